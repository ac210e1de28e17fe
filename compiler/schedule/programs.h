// Several programs for each step of a plan: the fastest one alone may not be the best beside others
// (Rammer, OSDI'20: the interplay of intra- and inter-operator scheduling).
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "ir/plan.h"
#include "model/estimate.h"
#include "model/machine.h"

namespace assay::compiler {

// Programs of the same graph in the same layouts that take less work on few units than this one.
using OtherPrograms = std::function<std::vector<ir::Program>(const ir::Program&)>;

struct Offered {
  ir::Plan plan;                         // others stand behind its own programs
  std::vector<std::vector<int>> steps;   // per step, what it may have: its own, then others
  std::vector<model::GroupNeeds> needs;  // per program, where lanes are threads
  bool has_others() const {
    return std::ranges::any_of(steps, [](const auto& of) { return of.size() > 1; });
  }
};

// `others`: empty: each step has its own program alone.
Offered offered(const ir::Plan& plan, const model::Machine& m, const OtherPrograms& others);

// Per step the programs that it may have where so many groups stay on a unit, each as large as the
// largest of all steps. Empty: none of some step fits. 0: all that are offered.
std::vector<std::vector<int>> fitting(const Offered& o, const model::Machine& m, int resident);

// Numbers of groups that stay on a unit: none where units have queues of their own, else all halves
// of the most that fit.
std::vector<int> residents_of(const Offered& o, const model::Machine& m);

// Gives each step its program. Those that no step has leave the plan.
void take_programs(ir::Plan& plan, std::span<const int> programs);

}  // namespace assay::compiler
