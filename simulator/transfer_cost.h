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

}  // namespace assay::simulator
