// What a plan's steps take on few units and on many, for who schedules them.
#pragma once

#include <span>
#include <vector>

#include "ir/plan.h"
#include "model/machine.h"

namespace assay::simulator {

// Per step and each of its widths, seconds on so many units while no others are busy, without
// launch and barrier. Each finds the caches as it does where all steps run one after the other,
// again and again: on all units, or on so many (of widths that are close, on the fewest of them),
// which is better for it. Pre: widths are at most the machine's units; no transfers.
std::vector<std::vector<double>> step_widths(const ir::Plan& plan, const model::Machine& m,
                                             std::span<const std::vector<int>> widths);

}  // namespace assay::simulator
