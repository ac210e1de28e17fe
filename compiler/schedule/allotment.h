// How wide each step is best, and what no schedule beats.
//
// A wide step shortens its path, and takes more unit seconds. Whatever the widths, a schedule lasts
// as long as its longest path, and as all work spread over the units (Belkhale and Banerjee, 1991).
// Also, between a step u and a later one v lies all work that depends on u and that v depends on.
// So paths may jump from u to v, for that work. The longest such path, of the widths that make it
// shortest, is a lower bound (of malleable tasks with precedence: Lepere, Trystram, Woeginger,
// 2002).
//
// Widths and paths are found as in a game: each answers the mean of all answers of the other
// (fictitious play: Brown, 1951). A mean of paths is linear in each step's width. So its least sum
// is found step by step, and is a lower bound after each round: sum over steps of min over widths
// of
//
//     paths through it x seconds + hand-offs x hand_off + jumps over it x width x seconds / units.
#pragma once

#include <vector>

#include "compiler/schedule/list_problem.h"

namespace assay::compiler {

struct Allotment {
  std::vector<int> choice;  // per step, position in its options
  // s. No schedule takes less that has each step on one range of units, of a width that is offered.
  double least = 0;
};

Allotment allotted(const ListProblem& problem, const WidthOptions& options);

// Per step, the choice with the least seconds + price x work / units. A price as large as the
// number of steps that run side by side makes each unit second count.
std::vector<int> priced(const ListProblem& problem, const WidthOptions& options, double price);

// s. The longest path, each step at its fastest, with the hand-offs that no width avoids; and all
// work at its least, spread over the units.
double longest_path(const ListProblem& problem, const WidthOptions& options);
double least_work(const ListProblem& problem, const WidthOptions& options);

}  // namespace assay::compiler
