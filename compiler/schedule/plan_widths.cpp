#include "compiler/schedule/plan_widths.h"

#include "compiler/schedule/widths.h"
#include "simulator/unit_range.h"

namespace assay::compiler {

PlanWidths widths_of(const ir::Plan& plan, const model::Machine& m, TouchedParts& parts,
                     std::span<const std::vector<int>> programs) {
  PlanWidths out;
  out.problem = list_problem(plan, simulator::with_residents(m, plan.resident), &parts, programs);
  out.options = width_options(out.problem);
  out.allotment = allotted(out.problem, out.options);
  const double launch = plan.resident > 0 ? m.launch.value : 0;
  out.bounds = {launch + longest_path(out.problem, out.options),
                launch + least_work(out.problem, out.options), launch + out.allotment.least};
  return out;
}

}  // namespace assay::compiler
