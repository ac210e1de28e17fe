// What phases of a plan are made from.
#pragma once

#include <span>
#include <vector>

#include "compiler/schedule/phases.h"
#include "compiler/schedule/programs.h"
#include "ir/plan.h"
#include "model/machine.h"

namespace assay::compiler {

// Of the plan's own programs, all of one kind.
PhaseProblem phase_problem(const ir::Plan& plan, const model::Machine& m);

// Per step, the program of least work. They are the problem's others.
std::vector<int> put_others(PhaseProblem& problem, const Offered& o, const model::Machine& m);

// What groups of a step are like, for which of them are launched together: those with as many
// threads, with the same needs of a unit, of one program.
enum class Alike { threads, needs, program };

// Fills the kinds of steps that have these programs.
void put_kinds(std::vector<PhaseProblem::Step>& steps, const Offered& o,
               std::span<const int> programs, Alike alike);

}  // namespace assay::compiler
