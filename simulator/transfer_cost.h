// How fast lines come to a unit from the levels of its memory. Internal to simulator/.
#pragma once

#include <cstddef>

#include "model/bandwidth.h"
#include "model/machine.h"

namespace assay::simulator {

// Seconds per byte of one unit, from level `l`, while `active` units do the same.
model::TransferCost transfer_cost(const model::Machine& m, size_t l, double active);

// The hierarchy hands lines on: a line is paid for once, on its whole way from the farthest level
// it comes from, as fast as the slowest on that way.
model::TransferCost path_transfer_cost(const model::Machine& m, size_t l, double active);

// Of the time that lines take from the level, what a core can look past. Waves hide what they wait
// for otherwise.
double hidden_part(const model::Machine& m, size_t l);

}  // namespace assay::simulator
