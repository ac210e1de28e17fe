// What all estimates say beside their terms. Internal to simulator/.
#pragma once

#include <span>
#include <string_view>

#include "model/estimate.h"
#include "model/machine.h"

namespace assay::simulator {

// The bound, the interval, each assumption once. `spreads`: of the terms, from the profile; `unit`:
// as in model/interval. Pre: seconds, efficiency and terms are known.
void complete(model::Estimate& e, std::span<const double> spreads, const model::Machine& m,
              std::string_view unit);

}  // namespace assay::simulator
