// How fast lines reach a unit from the levels of its memory. Internal to simulator/.
#pragma once

#include <cstddef>

#include "model/bandwidth.h"
#include "model/machine.h"

namespace assay::simulator {

// Seconds per byte of one unit, from level `l`, while `active` units do the same.
model::TransferCost transfer_cost(const model::Machine& m, size_t l, double active);

// Seconds per byte over the whole path from level `l`: a line is counted once, at the slowest level
// on its way.
model::TransferCost path_transfer_cost(const model::Machine& m, size_t l, double active);

// Of the time that lines take from the level, the part that a core's out-of-order execution hides.
// Waves hide latency by occupancy instead.
double hidden_transfer_fraction(const model::Machine& m, size_t l);

}  // namespace assay::simulator
