#include "simulator/step_widths.h"

#include "simulator/plan_steps.h"
#include "simulator/unit_range.h"

namespace assay::simulator {

namespace {

constexpr int kPasses = 2;  // after which caches are nearly as they stay

}  // namespace

std::vector<std::vector<double>> step_widths(const ir::Plan& plan, const model::Machine& m,
                                             std::span<const int> widths) {
  std::vector<model::Machine> parts;
  for (const int w : widths) {
    parts.push_back(part_of(m, 0, w));
    parts.back().launch.value = 0;
  }
  std::vector<std::vector<double>> out(plan.steps.size());
  PlanSteps steps(plan);
  CacheState state;
  for (int pass = 0; pass < kPasses; ++pass)
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const ir::Step& step = plan.steps[s];
      if (pass + 1 == kPasses)
        for (const model::Machine& part : parts)
          out[s].push_back(steps.estimate(step, part, state, TermDetail::none).seconds);
      state = steps.leave(step, m, std::move(state), 0);
    }
  return out;
}

}  // namespace assay::simulator
