// Groups of a step onto virtual execution units (Rammer, OSDI'20, section 4: rTasks onto vEUs);
// here one contiguous range per unit, so that a unit's groups share what they can in its caches.
#pragma once

#include <vector>

#include "ir/plan.h"

namespace assay::compiler {

std::vector<ir::Queue> schedule(int64_t groups, int units);

}  // namespace assay::compiler
