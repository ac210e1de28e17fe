// A part of a chip's units, and groups that stay on them.
#pragma once

#include "model/machine.h"

namespace assay::simulator {

// Units [first, last), with the caches that they share among themselves and with others. What
// others do there at the same time is not in it.
model::Machine part_of(const model::Machine& m, int first, int last);

// The chip as one launch has it whose groups stay, so many on each unit: a barrier is one among
// them. 0: as it is. Pre: of others, the machine knows such barriers.
model::Machine with_residents(model::Machine m, int resident);

}  // namespace assay::simulator
