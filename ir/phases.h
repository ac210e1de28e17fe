// Phases of a plan: steps that are launched together (Rammer, OSDI'20, runs such wavefronts as one
// kernel).
#pragma once

#include <vector>

#include "ir/plan.h"

namespace assay::ir {

// Per step, the phase it is in; -1: in none.
std::vector<int> phase_of_steps(const Plan& plan);

struct PhaseFault {
  int phase = -1;  // -1: of all of them
  Diag diag;
};

// What is wrong with the plan's phases: a step that runs twice or never; steps that touch the same
// bytes at once, or in the wrong order. Each names the steps. Part of verify(). Pre: the plan's
// tensors and arguments are sound.
std::vector<PhaseFault> phase_faults(const Plan& plan);

}  // namespace assay::ir
