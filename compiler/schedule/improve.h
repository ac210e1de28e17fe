// Better widths of a schedule's steps, one step at a time, with the list schedule as the judge.
//
// Steps on the critical path of the schedule are tried wider and narrower, then all steps, while
// that helps (hill climbing; its neighbours are those of Nowicki and Smutnicki, 1996: only steps
// that decide the end can make it earlier).
#pragma once

#include <vector>

#include "compiler/schedule/list_problem.h"

namespace assay::compiler {

// The best schedule found from these widths on (per step, position in its options). `least`: s,
// what none can beat.
std::vector<Assigned> improved(const ListProblem& problem, const WidthOptions& options,
                               const std::vector<std::vector<int>>& starts, double least);

}  // namespace assay::compiler
