// Steps in phases, each launched together (Rammer, OSDI'20, section 4: wavefronts of operators in
// one kernel).
#pragma once

#include <vector>

namespace assay::compiler {

struct PhaseProblem {
  struct Step {
    double seconds = 0;  // alone, on all units
    double work = 0;     // the least time of all units that it takes
    int kind = 0;        // steps of one phase are of one kind
  };
  std::vector<Step> steps;
  std::vector<std::vector<int>> dependencies;  // per step, those before it
  double launch = 0;                           // s of a phase
  double beside = 0;                           // s of each step of a phase but one
  // The same steps with other programs, of less work; empty: there are none. All steps of a phase
  // have these, or none has.
  std::vector<Step> others = {};
};

// A phase takes as long as its longest step, and as all work of its steps. Steps are dealt by the
// longest path to the end, each to the phase behind those that it reads whose time grows least, or
// to a new one.
std::vector<std::vector<int>> phases(const PhaseProblem& problem);

// Is the phase shorter with the other programs?
bool takes_others(const PhaseProblem& problem, const std::vector<int>& phase);

// s. By how much the work of their steps makes phases longer than their longest steps do.
double beyond_longest(const PhaseProblem& problem, const std::vector<std::vector<int>>& phases);

// s. What no phases beat: the longest path, each step of it a launch.
double longest_path(const PhaseProblem& problem);
// s. What no phases beat: all work, and a launch for each step of the longest chain.
double least_work(const PhaseProblem& problem);

}  // namespace assay::compiler
