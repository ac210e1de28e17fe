// Marks the steps whose values matter only where a condition holds: the branches of an If, of which
// one is taken when the model runs.
//
// Why: both branches of an If are planned, and a choice of elements takes the values of one. A
// device that can look at the condition leaves the other's steps out (Step::needed_if in
// ir/plan.h). Left alone: steps that both branches need, and those that come before the condition
// is known.
#pragma once

#include "ir/plan.h"

namespace assay::compiler {

void mark_needed(ir::Plan& plan);

}  // namespace assay::compiler
