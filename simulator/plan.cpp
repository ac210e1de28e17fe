// A plan in steady state: steps in order, each with the caches that the one before left.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "ir/producers.h"
#include "simulator/estimate_group.h"
#include "simulator/plan_steps.h"
#include "simulator/read_from.h"

namespace assay::simulator {

namespace {

constexpr int kStreamedPasses = 1;  // of one that streams its tensors, and more than caches hold

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

}  // namespace

std::vector<Range> where_of(const ir::Plan& plan, const ir::Step& step) {
  const ir::Program& p = plan.programs[static_cast<size_t>(step.program)];
  std::vector<Range> out(p.graph.tensors.size());
  const std::vector<int> arguments = ir::arguments_of(p);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ir::PlanTensor& t = plan.tensors[static_cast<size_t>(step.arguments[i])];
    const int64_t storage = range_of(plan, t).begin - t.offset;
    const auto [begin, end] = ir::bytes_of_argument(plan, step, i);
    out[static_cast<size_t>(arguments[i])] = {storage + begin, storage + end};
  }
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

PlanSteps::PlanSteps(const ir::Plan& plan) : plan_(plan), uses_(plan.programs.size(), 0) {
  for (const ir::Step& s : plan.steps) ++uses_[static_cast<size_t>(s.program)];
}

const Operands& PlanSteps::operands_of(const Place& at, const ir::Program& p,
                                       const model::Machine& m) {
  auto known = operands_.find(at);
  if (known == operands_.end()) known = operands_.emplace(at, Operands(p, m)).first;
  return known->second;
}

model::Estimate PlanSteps::of_program(const ir::Step& s, const model::Machine& m,
                                      const CacheState& state, TermDetail detail) {
  const ir::Program& p = plan_.programs[static_cast<size_t>(s.program)];
  const std::vector<Range> where = where_of(plan_, s);
  const bool once = uses_[static_cast<size_t>(s.program)] < 2;
  // Programs that share groups on a core find what the one before them leaves, group by group.
  const bool follows_state = !p.producers.empty() && !m.simt;
  if (once || follows_state || state.recent.empty())
    return simulator::estimate(p, m, state, where, nullptr, detail);
  Place at{s.program, m.first_unit, static_cast<int>(m.units)};
  Found found{at, detail, {}, {}};
  if (p.producers.empty()) {
    const Operands& operands = operands_of(at, p, m);
    found.held.push_back(cached_fractions(p, operands, m, state, where));
    found.remote = remote_lines(p, operands, m, state, where);
  } else {
    for (const ir::Member& member : members_of(s.program)) {
      found.held.push_back(cached_fractions(member.program, operands_of(at, member.program, m), m,
                                            state, outside(p, member, where)));
      ++at.member;
    }
  }
  const auto known = known_.find(found);
  if (known != known_.end()) return known->second;
  return known_.emplace(std::move(found), simulator::estimate(p, m, state, where, nullptr, detail))
      .first->second;
}

const std::vector<ir::Member>& PlanSteps::members_of(int program) {
  const auto [members, fresh] = members_.try_emplace(program);
  if (fresh) members->second = ir::members_of(plan_.programs[static_cast<size_t>(program)]);
  return members->second;
}

model::Estimate PlanSteps::estimate(const ir::Step& s, const model::Machine& m,
                                    const CacheState& state, TermDetail detail) {
  model::Estimate out = of_program(s, m, state, detail);
  fetch_code(out, code_misses(state, s.program, m), m);
  return out;
}

CacheState PlanSteps::leave(const ir::Step& s, const model::Machine& m, CacheState state,
                            double seconds) {
  const ir::Program& p = plan_.programs[static_cast<size_t>(s.program)];
  const std::vector<Range> where = where_of(plan_, s);
  Place at{s.program, m.first_unit, static_cast<int>(m.units)};
  if (p.producers.empty()) {
    state = after(p, operands_of(at, p, m), m, std::move(state), where);
  } else {  // as after_group
    for (const ir::Member& member : members_of(s.program)) {
      state = after(member.program, operands_of(at, member.program, m), m, std::move(state),
                    outside(p, member, where));
      ++at.member;
    }
  }
  pass_time(state, seconds);
  touch_code(state, s.program, uses_[static_cast<size_t>(s.program)] > 1, m);
  return state;
}

bool alike(const CacheState& a, const CacheState& b) {
  constexpr double kTolerance = 1e-9;  // of the bytes, and of their age
  return std::ranges::equal(
      a.recent, b.recent, [&](const CacheState::Entry& x, const CacheState::Entry& y) {
        const double age = a.now - x.ended;
        return std::abs(age - (b.now - y.ended)) <= kTolerance * (1e-3 + age) &&
               x.range == y.range && x.touched == y.touched && x.wrote == y.wrote &&
               x.written == y.written && x.produced == y.produced &&
               x.reuse_fraction == y.reuse_fraction &&
               std::abs(x.missed - y.missed) <= kTolerance * size_of(x.range);
      });
}

void finish(model::Estimate& total, double low, double high) {
  total.low = std::max(0.0, total.seconds - low);
  total.high = total.seconds + high;
  const auto top = std::max_element(
      total.terms.begin(), total.terms.end(),
      [](const model::Term& a, const model::Term& b) { return a.seconds < b.seconds; });
  if (top != total.terms.end()) total.bound = top->name;
}

namespace {

// Only co-tenants make a cache depend on how long steps take.
bool has_co_tenants(const model::Machine& m) {
  return std::any_of(m.levels.begin(), m.levels.end(),
                     [](const model::Level& l) { return l.co_tenant_eviction.value > 0; });
}

// The caches after a step, whose time is estimated where they depend on it.
CacheState run(PlanSteps& steps, const ir::Step& s, const model::Machine& m, CacheState state) {
  const double seconds =
      has_co_tenants(m) ? steps.estimate(s, m, state, TermDetail::none).seconds : 0;
  return steps.leave(s, m, std::move(state), seconds);
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
CacheState stationary(const ir::Plan& plan, PlanSteps& steps,
                      const std::vector<model::Estimate>& transfers, const model::Machine& m) {
  CacheState state;
  const int passes = plan.transfers.empty() ? kPassesBefore : kStreamedPasses;
  for (int pass = 0; pass < passes; ++pass) {
    const CacheState before = state;
    each_step(plan, transfers, state,
              [&](const ir::Step& s) { state = run(steps, s, m, std::move(state)); });
    if (alike(before, state)) break;
  }
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
  PlanSteps steps(plan);
  CacheState state = stationary(plan, steps, transfers, m);
  each_step(plan, transfers, state, [&](const ir::Step& s) {
    const ir::Program& p = plan.programs[static_cast<size_t>(s.program)];
    const std::vector<size_t> nearest = nearest_levels(p, m, state, where_of(plan, s));
    std::vector<std::string>& names = out.emplace_back();
    for (const int t : ir::arguments_of(p))
      names.push_back(m.levels[nearest[static_cast<size_t>(t)]].name);
    state = run(steps, s, m, std::move(state));
  });
  return out;
}

std::vector<bool> left_out(const ir::Plan& plan, const model::Machine& m,
                           std::span<const double> seconds) {
  std::vector<bool> out(plan.steps.size(), false);
  std::map<int, std::array<double, 2>> sides;  // of conditions
  for (size_t s = 0; m.conditions && s < out.size(); ++s)
    if (const auto& needed = plan.steps[s].needed_if)
      sides[needed->tensor][needed->value ? 1 : 0] += seconds[s];
  for (size_t s = 0; m.conditions && s < out.size(); ++s)
    if (const auto& needed = plan.steps[s].needed_if) {
      const auto& [no, yes] = sides.at(needed->tensor);
      out[s] = needed->value ? yes < no : no <= yes;
    }
  return out;
}

namespace {

// In the caches before the first step.
std::vector<double> seconds_of(const ir::Plan& plan, PlanSteps& steps, const CacheState& state,
                               const model::Machine& m) {
  std::vector<double> out;
  for (const ir::Step& s : plan.steps)
    out.push_back(s.needed_if ? steps.estimate(s, m, state, TermDetail::none).seconds : 0);
  return out;
}

}  // namespace

PlanEstimate simulate(const ir::Plan& plan, const model::Machine& m, TermDetail detail) {
  if (!plan.schedule.empty()) return simulate_schedule(plan, m, detail);
  if (!plan.phases.empty()) return simulate_phases(plan, m, detail);
  PlanEstimate out;
  out.transfers = transfers_of(plan, m);
  PlanSteps steps(plan);
  CacheState state = stationary(plan, steps, out.transfers, m);
  const std::vector<bool> absent = left_out(plan, m, seconds_of(plan, steps, state, m));
  double low = 0, high = 0, now = 0;
  each_step(plan, out.transfers, state, [&](const ir::Step& s) {
    out.steps.push_back(steps.estimate(s, m, state, detail));
    if (absent[out.steps.size() - 1]) return;
    const double seconds = out.steps.back().seconds, end = now + seconds,
                 over = std::max(now, end - m.launch.value);
    const int run = 2 * static_cast<int>(out.steps.size() - 1);  // ir::schedule_of
    out.timeline.push_back({0, plan.units, run, now, over});
    out.timeline.push_back({0, plan.units, run + 1, over, end});
    now = end;
    state = steps.leave(s, m, std::move(state), seconds);
    add(out.total, out.steps.back(), low, high);
  });
  for (const model::Estimate& t : out.transfers) add(out.total, t, low, high);
  finish(out.total, low, high);
  out.left_out = absent;
  return out;
}

}  // namespace assay::simulator
