// A plan in steady state: steps in order, each with the caches that the one before left.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulator/cache_lookup.h"
#include "simulator/estimate.h"

namespace assay::simulator {

namespace {

constexpr int kPassesBefore = 12;  // of a plan, after which hits and misses are stationary

// Storage of each tensor of the step's program.
std::vector<Range> where_of(const ir::Plan& plan, const ir::Step& step) {
  const ir::Program& p = plan.programs[static_cast<size_t>(step.program)];
  std::vector<Range> out(p.graph.tensors.size());
  const std::vector<int> arguments = ir::arguments_of(p);
  for (size_t i = 0; i < arguments.size(); ++i)
    out[static_cast<size_t>(arguments[i])] =
        range_of(plan, plan.tensors[static_cast<size_t>(step.arguments[i])]);
  return out;
}

void add(model::Estimate& total, const model::Estimate& e, double& low, double& high) {
  const double best = total.efficiency * total.seconds + e.efficiency * e.seconds;
  total.seconds += e.seconds;
  total.efficiency = total.seconds > 0 ? best / total.seconds : 0;
  total.flops += e.flops;
  // Errors of steps are taken as half common, half independent.
  low += e.seconds - e.low;
  high += e.high - e.seconds;
  model::add_terms(total.terms, e.terms);
  for (const std::string& a : e.assumed)
    if (std::find(total.assumed.begin(), total.assumed.end(), a) == total.assumed.end())
      total.assumed.push_back(a);
}

// Code misses delay the start of a step, whatever bounds it.
void fetch_code(model::Estimate& e, const CodeMisses& lost, const model::Machine& m) {
  const model::Quantity& far =
      m.uncached_code.value > m.cold_code.value ? m.uncached_code : m.cold_code;
  const double near = (lost.own - lost.all) * m.cold_code.value, beyond = lost.all * far.value,
               seconds = near + beyond;
  if (seconds <= 0) return;
  const double spread = near * m.cold_code.spread + beyond * far.spread;
  e.efficiency *= e.seconds / (e.seconds + seconds);
  e.seconds += seconds;
  e.low += std::max(0.0, seconds - spread);
  e.high += seconds + spread;
  double largest = 0;
  for (const model::Term& t : e.terms) largest = std::max(largest, t.seconds);
  e.terms.push_back({"cold code", seconds,
                     fmt::format("{:.0f} % of it lost to the steps between, {:.0f} % by all caches",
                                 100 * lost.own, 100 * lost.all)});
  if (e.tree.seconds > 0)
    e.tree = model::join(
        "estimate", model::Part::Joins::sum,
        {std::move(e.tree),
         model::leaf("cold code", seconds, e.terms.back().detail,
                     {model::duration_of(m.cold_code), model::duration_of(m.uncached_code)})});
  if (seconds <= largest) return;
  e.bound = "cold code";
  if (largest > 0) e.bound_margin = seconds / largest;
}

model::Estimate estimate_of(const ir::Plan& plan, const ir::Step& s, const model::Machine& m,
                            const CacheState& state, TermDetail detail) {
  model::Estimate out = estimate(plan.programs[static_cast<size_t>(s.program)], m, state,
                                 where_of(plan, s), nullptr, detail);
  fetch_code(out, code_misses(state, s.program, m), m);
  return out;
}

// The caches after a step that took so long.
CacheState leave(const ir::Plan& plan, const ir::Step& s, const model::Machine& m, CacheState state,
                 double seconds) {
  state =
      after(plan.programs[static_cast<size_t>(s.program)], m, std::move(state), where_of(plan, s));
  pass_time(state, seconds);
  touch_code(state, s.program, std::ranges::count(plan.steps, s.program, &ir::Step::program) > 1,
             m);
  return state;
}

// Only co-tenants make a cache depend on how long steps take.
bool has_co_tenants(const model::Machine& m) {
  return std::any_of(m.levels.begin(), m.levels.end(),
                     [](const model::Level& l) { return l.co_tenant_eviction.value > 0; });
}

}  // namespace

PlanEstimate simulate(const ir::Plan& plan, const model::Machine& m) {
  PlanEstimate out;
  CacheState state;
  const bool timed = has_co_tenants(m);
  for (int pass = 0; pass < kPassesBefore; ++pass)
    for (const ir::Step& s : plan.steps) {
      const double seconds = timed ? estimate_of(plan, s, m, state, TermDetail::none).seconds : 0;
      state = leave(plan, s, m, std::move(state), seconds);
    }
  double low = 0, high = 0;
  for (const ir::Step& s : plan.steps) {
    out.steps.push_back(estimate_of(plan, s, m, state, TermDetail::full));
    state = leave(plan, s, m, std::move(state), out.steps.back().seconds);
    add(out.total, out.steps.back(), low, high);
  }
  out.total.low = std::max(0.0, out.total.seconds - low);
  out.total.high = out.total.seconds + high;
  const auto top = std::max_element(
      out.total.terms.begin(), out.total.terms.end(),
      [](const model::Term& a, const model::Term& b) { return a.seconds < b.seconds; });
  if (top != out.total.terms.end()) out.total.bound = top->name;
  return out;
}

}  // namespace assay::simulator
