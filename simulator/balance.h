// How evenly a program's groups fall on the units.
#pragma once

#include "ir/program.h"
#include "model/machine.h"

namespace assay::simulator {

// The busiest unit's part of the work. Cores have contiguous ranges of groups, the last one of an
// axis perhaps partial; other units take groups as they come.
double busiest_share(const ir::Program& p, const model::Machine& m);

}  // namespace assay::simulator
