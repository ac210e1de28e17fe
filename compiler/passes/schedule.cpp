#include "compiler/passes/schedule.h"

namespace assay::compiler {

std::vector<ir::Queue> schedule(int64_t groups, int units) {
  std::vector<ir::Queue> out;
  for (int u = 0; u < units; ++u) {
    const int64_t begin = groups * u / units, end = groups * (u + 1) / units;
    if (begin < end) out.push_back({u, begin, end});
  }
  return out;
}

void schedule(ir::Plan& plan) {
  for (ir::Step& step : plan.steps)
    step.queues =
        schedule(ir::group_count(plan.programs[static_cast<size_t>(step.program)]), plan.units);
}

}  // namespace assay::compiler
