// When which units run which step: list scheduling of tasks that may be narrow or wide.
//
// Steps are taken by their bottom level, the longest path from them to the end (HEFT: Topcuoglu,
// Hariri, Wu, 2002). Each goes where, and as wide as, it ends first (M-HEFT: Casanova, Desprez,
// Suter, 2010). A wide one takes the part of the units that its work is of all that could run now,
// unless it wastes little: a wave that is full is Rammer's wavefront (OSDI'20, section 4).
#pragma once

#include <vector>

#include "compiler/schedule/list_problem.h"

namespace assay::compiler {

// `efficiency`: of a step that is wider than its part of what could run now, the least work /
// (units x time), of that on the narrowest. 0: steps are as wide as they are fastest. Per step of
// the problem.
std::vector<Assigned> list_schedule(const ListProblem& problem, double efficiency);

}  // namespace assay::compiler
