// Schedules the groups of a step onto virtual execution units, one contiguous range each.
//
// Why: groups of one range share operands in their unit's caches. Left alone: the order of steps.
// Source: Rammer, OSDI'20, section 4 (rTasks onto vEUs).
#pragma once

#include <vector>

#include "ir/plan.h"

namespace assay::compiler {

std::vector<ir::Queue> schedule(int64_t groups, int units);

// Every step's groups onto the plan's units.
void schedule(ir::Plan& plan);

}  // namespace assay::compiler
