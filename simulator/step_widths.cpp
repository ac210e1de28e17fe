#include "simulator/step_widths.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "simulator/plan_steps.h"
#include "simulator/unit_range.h"

namespace assay::simulator {

namespace {

// Of two widths whose states of caches are followed: the wider one has so many times the units, at
// least. To follow that of each width takes longer than all else of planning.
constexpr int kStatesApart = 4;

class Parts {
 public:
  Parts(const model::Machine& m, std::span<const std::vector<int>> widths) {
    for (const std::vector<int>& of : widths)
      for (const int w : of)
        if (const auto [machine, fresh] = machines_.try_emplace(w); fresh) {
          machine->second = part_of(m, 0, w);
          machine->second.launch.value = 0;
        }
    for (const auto& [units, machine] : machines_)
      if (units < m.units && (states_.empty() || units >= kStatesApart * states_.rbegin()->first))
        states_.try_emplace(units);
  }

  void leave(PlanSteps& steps, const ir::Step& step) {
    for (auto& [units, state] : states_)
      state = steps.leave(step, machines_.at(units), std::move(state), 0);
  }

  const model::Machine& machine(int units) const { return machines_.at(units); }

  // What so many units find where all steps run there, or on fewer.
  const CacheState& state(int units) const { return std::prev(states_.upper_bound(units))->second; }

 private:
  std::map<int, model::Machine> machines_;  // by units
  std::map<int, CacheState> states_;        // by units, fewer than all
};

}  // namespace

std::vector<std::vector<double>> step_widths(const ir::Plan& plan, const model::Machine& m,
                                             std::span<const std::vector<int>> widths) {
  Parts parts(m, widths);
  PlanSteps steps(plan);
  CacheState all;
  for (int pass = 0; pass < kPassesBefore; ++pass) {
    const CacheState before = all;
    for (const ir::Step& step : plan.steps) all = steps.leave(step, m, std::move(all), 0);
    if (alike(before, all)) break;
  }
  for (const ir::Step& step : plan.steps) parts.leave(steps, step);
  std::vector<std::vector<double>> out(plan.steps.size());
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const ir::Step& step = plan.steps[s];
    const auto seconds = [&](int w, const CacheState& found) {
      return steps.estimate(step, parts.machine(w), found, TermDetail::none).seconds;
    };
    for (const int w : widths[s]) {
      out[s].push_back(seconds(w, all));
      if (w < m.units) out[s].back() = std::min(out[s].back(), seconds(w, parts.state(w)));
    }
    all = steps.leave(step, m, std::move(all), 0);
    parts.leave(steps, step);
  }
  return out;
}

}  // namespace assay::simulator
