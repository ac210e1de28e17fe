// How evenly a program's groups are distributed over the units.
#pragma once

#include "ir/program.h"
#include "model/machine.h"

namespace assay::simulator {

// The busiest unit's part of the work. Cores have contiguous ranges of groups, the last one of an
// axis perhaps partial. Other units are assigned groups dynamically.
double busiest_share(const ir::Program& p, const model::Machine& m);

}  // namespace assay::simulator
