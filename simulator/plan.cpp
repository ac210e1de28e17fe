// A plan in steady state: steps in order, each with the caches that the one before left.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/producers.h"
#include "simulator/cache_lookup.h"
#include "simulator/estimate.h"
#include "simulator/read_from.h"

namespace assay::simulator {

namespace {

constexpr int kPassesBefore = 12;   // of a plan, after which hits and misses are stationary
constexpr int kStreamedPasses = 1;  // of one that streams its tensors, and more than caches hold

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

// The caches after a step, whose time is estimated where they depend on it.
CacheState run(const ir::Plan& plan, const ir::Step& s, const model::Machine& m, CacheState state) {
  const double seconds =
      has_co_tenants(m) ? estimate_of(plan, s, m, state, TermDetail::none).seconds : 0;
  return leave(plan, s, m, std::move(state), seconds);
}

// Calls `f` for every step, after the transfers before it.
template <class F>
void each_step(const ir::Plan& plan, const std::vector<model::Estimate>& transfers,
               CacheState& state, const F& f) {
  for (size_t s = 0; s <= plan.steps.size(); ++s) {
    const auto [first, last] = ir::transfers_before(plan, s);
    for (size_t t = first; t < last; ++t) {
      const ir::Transfer& transfer = plan.transfers[t];
      if (transfer.way != ir::Transfer::Way::download)
        forget(state, range_of(plan, plan.tensors[static_cast<size_t>(transfer.device)]));
      pass_time(state, transfers[t].seconds);
    }
    if (s < plan.steps.size()) f(plan.steps[s]);
  }
}

std::vector<model::Estimate> transfers_of(const ir::Plan& plan, const model::Machine& m) {
  std::vector<model::Estimate> out;
  for (const ir::Transfer& t : plan.transfers) out.push_back(estimate(plan, t, m));
  return out;
}

// The caches before the first step, after many passes.
CacheState stationary(const ir::Plan& plan, const std::vector<model::Estimate>& transfers,
                      const model::Machine& m) {
  CacheState state;
  const int passes = plan.transfers.empty() ? kPassesBefore : kStreamedPasses;
  for (int pass = 0; pass < passes; ++pass)
    each_step(plan, transfers, state,
              [&](const ir::Step& s) { state = run(plan, s, m, std::move(state)); });
  return state;
}

// Per tensor of the program's graph, the nearest level that holds at least half of it.
std::vector<size_t> nearest_levels(const ir::Program& p, const model::Machine& m,
                                   const CacheState& state, std::span<const Range> where) {
  std::vector<size_t> out(p.graph.tensors.size(), m.levels.size() - 1);
  for (const ir::Member& member : ir::members_of(p)) {
    std::vector<Range> own(member.tensors.size());
    for (size_t t = 0; t < own.size(); ++t)
      if (member.tensors[t] >= 0) own[t] = where[static_cast<size_t>(member.tensors[t])];
    const model::CachedFractions held =
        cached_fractions(member.program, model::streams_of(member.program), m, state, own);
    for (size_t t = 0; t < own.size(); ++t)
      for (size_t l = 0; member.tensors[t] >= 0 && l + 1 < m.levels.size(); ++l)
        if (!m.levels[l].is_scratchpad && held[t][l] >= 0.5)
          out[static_cast<size_t>(member.tensors[t])] =
              std::min(out[static_cast<size_t>(member.tensors[t])], l);
  }
  return out;
}

}  // namespace

std::vector<std::vector<std::string>> read_from(const ir::Plan& plan, const model::Machine& m) {
  std::vector<std::vector<std::string>> out;
  const std::vector<model::Estimate> transfers = transfers_of(plan, m);
  CacheState state = stationary(plan, transfers, m);
  each_step(plan, transfers, state, [&](const ir::Step& s) {
    const ir::Program& p = plan.programs[static_cast<size_t>(s.program)];
    const std::vector<size_t> nearest = nearest_levels(p, m, state, where_of(plan, s));
    std::vector<std::string>& names = out.emplace_back();
    for (const int t : ir::arguments_of(p))
      names.push_back(m.levels[nearest[static_cast<size_t>(t)]].name);
    state = run(plan, s, m, std::move(state));
  });
  return out;
}

PlanEstimate simulate(const ir::Plan& plan, const model::Machine& m) {
  PlanEstimate out;
  out.transfers = transfers_of(plan, m);
  CacheState state = stationary(plan, out.transfers, m);
  double low = 0, high = 0;
  each_step(plan, out.transfers, state, [&](const ir::Step& s) {
    out.steps.push_back(estimate_of(plan, s, m, state, TermDetail::full));
    state = leave(plan, s, m, std::move(state), out.steps.back().seconds);
    add(out.total, out.steps.back(), low, high);
  });
  for (const model::Estimate& t : out.transfers) add(out.total, t, low, high);
  out.total.low = std::max(0.0, out.total.seconds - low);
  out.total.high = out.total.seconds + high;
  const auto top = std::max_element(
      out.total.terms.begin(), out.total.terms.end(),
      [](const model::Term& a, const model::Term& b) { return a.seconds < b.seconds; });
  if (top != out.total.terms.end()) out.total.bound = top->name;
  return out;
}

}  // namespace assay::simulator
