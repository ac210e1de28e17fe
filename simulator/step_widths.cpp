#include "simulator/step_widths.h"

#include <algorithm>
#include <map>

#include "simulator/plan_steps.h"
#include "simulator/unit_range.h"

namespace assay::simulator {

namespace {

constexpr int kPasses = 2;  // after which caches are nearly as they stay

struct Part {  // of the units, and what they leave in the caches where all steps run there
  model::Machine machine;
  CacheState state;
};

std::map<int, Part> parts_of(const model::Machine& m, std::span<const std::vector<int>> widths) {
  std::map<int, Part> out;
  for (const std::vector<int>& of : widths)
    for (const int w : of)
      if (const auto [part, fresh] = out.try_emplace(w); fresh) {
        part->second.machine = part_of(m, 0, w);
        part->second.machine.launch.value = 0;
      }
  return out;
}

}  // namespace

std::vector<std::vector<double>> step_widths(const ir::Plan& plan, const model::Machine& m,
                                             std::span<const std::vector<int>> widths) {
  std::map<int, Part> parts = parts_of(m, widths);
  std::vector<std::vector<double>> out(plan.steps.size());
  PlanSteps steps(plan);
  CacheState all;
  for (int pass = 0; pass < kPasses; ++pass)
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const ir::Step& step = plan.steps[s];
      const auto seconds = [&](const Part& part, const CacheState& found) {
        return steps.estimate(step, part.machine, found, TermDetail::none).seconds;
      };
      for (size_t w = 0; pass + 1 == kPasses && w < widths[s].size(); ++w) {
        const Part& part = parts.at(widths[s][w]);
        const bool whole = part.machine.units == m.units;
        out[s].push_back(whole ? seconds(part, all)
                               : std::min(seconds(part, all), seconds(part, part.state)));
      }
      all = steps.leave(step, m, std::move(all), 0);
      for (auto& [units, part] : parts)
        if (units < m.units) part.state = steps.leave(step, part.machine, std::move(part.state), 0);
    }
  return out;
}

}  // namespace assay::simulator
