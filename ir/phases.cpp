#include "ir/phases.h"

#include <fmt/format.h>

#include "ir/accesses.h"

namespace assay::ir {

namespace {

constexpr size_t kMostFaults = 10;

size_t at(int i) { return static_cast<size_t>(i); }

}  // namespace

std::vector<int> phase_of_steps(const Plan& plan) {
  std::vector<int> out(plan.steps.size(), -1);
  for (size_t p = 0; p < plan.phases.size(); ++p)
    for (const int s : plan.phases[p]) out[at(s)] = static_cast<int>(p);
  return out;
}

std::vector<PhaseFault> phase_faults(const Plan& plan) {
  std::vector<PhaseFault> out;
  const auto fail = [&](int phase, const std::string& what, const std::string& hint = "") {
    if (out.size() < kMostFaults) out.push_back({phase, error(what, hint)});
  };
  const auto name = [&](int step) { return plan.steps[at(step)].name; };
  std::vector<int> phase(plan.steps.size(), -1);
  for (int p = 0; p < static_cast<int>(plan.phases.size()); ++p) {
    if (plan.phases[at(p)].empty()) fail(p, fmt::format("phase {} has no steps", p));
    for (const int s : plan.phases[at(p)]) {
      if (s < 0 || s >= static_cast<int>(plan.steps.size()))
        fail(p, fmt::format("phase {} runs step {}, there are {}", p, s, plan.steps.size()));
      else if (phase[at(s)] >= 0)
        fail(p, fmt::format("step {} runs twice, in phases {} and {}", name(s), phase[at(s)], p));
      else
        phase[at(s)] = p;
    }
  }
  for (int s = 0; s < static_cast<int>(phase.size()) && out.empty(); ++s)
    if (phase[at(s)] < 0) fail(-1, fmt::format("step {} is in no phase", name(s)));
  if (!out.empty()) return out;
  each_conflict(
      plan, [&](int old, int now) { return phase[at(old)] < phase[at(now)]; },
      [&](const Access& old, const Access& now) {
        const int p = phase[at(now.step)];
        fail(p,
             phase[at(old.step)] == p
                 ? fmt::format("steps {} and {} of phase {} may run at once, but {}",
                               name(old.step), name(now.step), p, conflict_text(plan, old, now))
                 : fmt::format("step {} in phase {} runs before {} in phase {}, but {}",
                               name(now.step), p, name(old.step), phase[at(old.step)],
                               conflict_text(plan, old, now)),
             "a later phase for the second");
      });
  return out;
}

}  // namespace assay::ir
