// A part of a chip's units.
#pragma once

#include "model/machine.h"

namespace assay::simulator {

// Units [first, last), with the caches that they share among themselves and with others. What
// others do there at the same time is not in it.
model::Machine part_of(const model::Machine& m, int first, int last);

}  // namespace assay::simulator
