#include "simulator/step_widths.h"

#include <algorithm>
#include <map>

#include "simulator/plan_steps.h"
#include "simulator/unit_range.h"

namespace assay::simulator {

namespace {

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
  PlanSteps steps(plan);
  const auto leave = [&](const ir::Step& step) {
    for (auto& [units, part] : parts)
      if (units < m.units) part.state = steps.leave(step, part.machine, std::move(part.state), 0);
  };
  CacheState all;
  for (int pass = 0; pass < kPassesBefore; ++pass) {
    const CacheState before = all;
    for (const ir::Step& step : plan.steps) all = steps.leave(step, m, std::move(all), 0);
    if (alike(before, all)) break;
  }
  for (const ir::Step& step : plan.steps) leave(step);
  std::vector<std::vector<double>> out(plan.steps.size());
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const ir::Step& step = plan.steps[s];
    const auto seconds = [&](const Part& part, const CacheState& found) {
      return steps.estimate(step, part.machine, found, TermDetail::none).seconds;
    };
    for (const int w : widths[s]) {
      const Part& part = parts.at(w);
      out[s].push_back(w < m.units ? std::min(seconds(part, all), seconds(part, part.state))
                                   : seconds(part, all));
    }
    all = steps.leave(step, m, std::move(all), 0);
    leave(step);
  }
  return out;
}

}  // namespace assay::simulator
