// Which widths of each step are worth a look, and what they take.
#pragma once

#include <span>
#include <vector>

#include "compiler/schedule/list_problem.h"
#include "compiler/schedule/touched_parts.h"
#include "ir/plan.h"
#include "model/machine.h"

namespace assay::compiler {

// A step takes as long as the unit with the most groups. So of the widths at which that one has
// equally many, the narrowest is offered: ceil(groups / most) units. Of widths within a quarter of
// each other one is. `m`: inside the plan's launch, if it has one. `programs`: per step, programs
// of the plan that it may have; at each width it has the fastest of them. Without: each has its
// own. `parts`: tells where units need no hand-off; null: nobody asks.
ListProblem list_problem(const ir::Plan& plan, const model::Machine& m, TouchedParts* parts,
                         std::span<const std::vector<int>> programs);
ListProblem list_problem(const ir::Plan& plan, const model::Machine& m, TouchedParts* parts);

}  // namespace assay::compiler
