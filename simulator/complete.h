// What all estimates say beside their terms. Internal to simulator/.
#pragma once

#include <span>
#include <string_view>

#include "ir/program.h"
#include "model/estimate.h"
#include "model/machine.h"

namespace assay::simulator {

// Seconds in which the units together could do these operations: each half of a whole multiply-add,
// every operand's and result's element moved once by a whole vector, one launch. A lower bound for
// all programs of them.
double least_time(const ir::Program& p, double flops, const model::Machine& m);

// Units that start late: the others do their share of `body` meanwhile, at most all of it.
double late_start(const model::Machine& m, double active, double body);

// The bound, the interval, each assumption once. `spreads`: of the terms, from the profile; `unit`:
// as in model/interval. Pre: seconds, efficiency and terms are known.
void complete(model::Estimate& e, std::span<const double> spreads, const model::Machine& m,
              std::string_view unit);

}  // namespace assay::simulator
