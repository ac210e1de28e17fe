// Steps on their units -> the commands of a schedule.
#pragma once

#include <span>
#include <vector>

#include "compiler/schedule/list_schedule.h"
#include "compiler/schedule/touched_parts.h"
#include "ir/plan.h"

namespace assay::compiler {

// What the units of a step wait for, of an earlier step that touches the same elements.
enum class WaitsFor {
  steps,  // all units of the earlier one
  parts   // those whose groups touch the same elements, where these are few
};

// Runs in the order in which they begin. A step that is on all units and depends on others waits at
// a barrier; else its units wait for those of each step it depends on. What an earlier wait or a
// unit's own queue shows is not waited for again, and units whose groups read no elements of others
// do not wait for each other. With WaitsFor::parts a counter counts the units that write a part of
// a tensor, and only units that read it wait, also in place of a barrier.
std::vector<ir::Command> synchronised(const ir::Plan& plan, std::span<const Assigned> assigned,
                                      const std::vector<std::vector<int>>& dependencies,
                                      TouchedParts& parts, WaitsFor waits = WaitsFor::steps);

}  // namespace assay::compiler
