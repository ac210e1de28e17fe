// When which units run which step: list scheduling of tasks that may be narrow or wide.
//
// Steps are taken by their bottom level, the longest path from them to the end (HEFT: Topcuoglu,
// Hariri, Wu, 2002). Each goes where, and as wide as, it ends first (M-HEFT: Casanova, Desprez,
// Suter, 2010). A wide one takes the part of the units that its work is of all that could run now,
// unless it wastes little: a wave that is full is Rammer's wavefront (OSDI'20, section 4).
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"

namespace assay::compiler {

struct ListProblem {
  int units = 1;
  std::vector<int> widths;                     // ascending; the last one is all units
  std::vector<std::vector<double>> seconds;    // per step and width
  std::vector<std::vector<int>> dependencies;  // per step, those before it
  double hand_off = 0;                         // s, where a step follows one on other units
};

// Units [first, last), seconds.
struct Assigned {
  int first = 0, last = 0;
  double begin = 0, end = 0;
};

// `efficiency`: of a step that is wider than its part of what could run now, the least work /
// (units x time), of that on the narrowest. 0: steps are as wide as they are fastest. Per step of
// the problem.
std::vector<Assigned> list_schedule(const ListProblem& problem, double efficiency);

ScheduleBounds bounds_of(const ListProblem& problem);

}  // namespace assay::compiler
