// Steps on their units -> the commands of a schedule.
#pragma once

#include <span>
#include <vector>

#include "compiler/schedule/list_schedule.h"
#include "compiler/schedule/touched_parts.h"
#include "ir/plan.h"

namespace assay::compiler {

// Runs in the order in which they begin. A step that is on all units and depends on others waits at
// a barrier; else its units wait for those of each step it depends on. What an earlier wait or a
// unit's own queue shows is not waited for again, and units whose groups read no elements of others
// do not wait for each other.
std::vector<ir::Command> synchronised(const ir::Plan& plan, std::span<const Assigned> assigned,
                                      const std::vector<std::vector<int>>& dependencies,
                                      TouchedParts& parts);

}  // namespace assay::compiler
