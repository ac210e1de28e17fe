// Which widths of each step are worth a look, and what they take.
#pragma once

#include "compiler/schedule/list_problem.h"
#include "compiler/schedule/touched_parts.h"
#include "ir/plan.h"
#include "model/machine.h"

namespace assay::compiler {

// A step takes as long as the unit with the most groups. So of the widths at which that one has
// equally many, the narrowest is offered: ceil(groups / most) units. Of widths within a quarter of
// each other one is. `m`: inside the plan's launch, if it has one.
ListProblem list_problem(const ir::Plan& plan, const model::Machine& m, TouchedParts& parts);

}  // namespace assay::compiler
