// A plan's steps on so many units, and what no schedule of them beats.
#pragma once

#include <span>
#include <vector>

#include "compiler/schedule/allotment.h"
#include "compiler/schedule/bounds.h"
#include "compiler/schedule/list_problem.h"
#include "compiler/schedule/touched_parts.h"
#include "ir/plan.h"
#include "model/machine.h"

namespace assay::compiler {

struct PlanWidths {
  ListProblem problem;
  WidthOptions options;
  Allotment allotment;
  ScheduleBounds bounds;
};

// `programs`: per step, those that it may have (widths.h).
PlanWidths widths_of(const ir::Plan& plan, const model::Machine& m, TouchedParts& parts,
                     std::span<const std::vector<int>> programs);

}  // namespace assay::compiler
