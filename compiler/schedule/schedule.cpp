#include "compiler/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "compiler/passes/place.h"
#include "compiler/schedule/allotment.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/improve.h"
#include "compiler/schedule/list_schedule.h"
#include "compiler/schedule/phase_problem.h"
#include "compiler/schedule/plan_widths.h"
#include "compiler/schedule/programs.h"
#include "compiler/schedule/synchronise.h"
#include "simulator/estimate.h"
#include "simulator/step_spans.h"
#include "simulator/unit_range.h"

namespace assay::compiler {

namespace {

// Of steps that run beside others (list_schedule.h). All are tried, and those that end first are
// simulated: all of a small plan, since memories that are shared are not in the lists.
constexpr std::array<double, 4> kEfficiencies = {0, 0.8, 0.95, 1.01};
constexpr size_t kFewestSimulated = 2, kMostSimulatedSteps = 2'000;

// Of a unit second (`priced`), for widths that better ones are sought from.
constexpr std::array<double, 10> kPrices = {0.5, 1, 2, 3, 4, 6, 8, 12, 16, 32};

// Of a plan's time: what schedules are tried for, and have to save.
constexpr double kWorthTrying = 0.005;

constexpr size_t kMostLines = 12;  // of steps side by side, for people
constexpr size_t kMostNames = 3;   // of steps in one launch

std::string micros(double seconds) { return fmt::format("{:.4g} us", seconds * 1e6); }

// The steps of each launch of several.
std::vector<std::string> launched_together(const ir::Plan& plan) {
  std::vector<std::string> out;
  size_t more = 0;
  for (size_t p = 0; p < plan.phases.size(); ++p) {
    if (plan.phases[p].size() < 2) continue;
    if (out.size() == kMostLines) {
      ++more;
      continue;
    }
    std::map<std::string, int> names;
    for (const int s : plan.phases[p])
      ++names[ir::display_name(plan.steps[static_cast<size_t>(s)])];
    std::vector<std::string> parts;
    for (const auto& [name, times] : names)
      parts.push_back(times > 1 ? fmt::format("{} times {}", times, name) : name);
    const size_t shown = std::min(parts.size(), kMostNames), rest = parts.size() - shown;
    out.push_back(fmt::format("launch {}: {}{}", p, fmt::join(std::span(parts).first(shown), " | "),
                              rest > 0 ? fmt::format(" and {} more", rest) : ""));
  }
  if (more > 0) out.push_back(fmt::format("and {} more launches of several steps", more));
  return out;
}

// Which steps overlap in time on different units.
std::vector<std::string> side_by_side(const ir::Plan& plan, const simulator::PlanEstimate& e) {
  const std::vector<simulator::StepSpan> spans =
      simulator::step_spans(ir::schedule_of(plan), plan.steps.size(), e.timeline);
  std::vector<size_t> order(spans.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t s) { return spans[s].begin; });
  std::vector<std::string> out;
  size_t more = 0;
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t j = i + 1; j < order.size(); ++j) {
      const simulator::StepSpan &first = spans[order[i]], &second = spans[order[j]];
      if (second.begin >= first.end) break;
      const double both = std::min(first.end, second.end) - second.begin;
      if (both < std::min(first.seconds(), second.seconds()) / 2) continue;
      if (out.size() == kMostLines) {
        ++more;
        continue;
      }
      out.push_back(fmt::format("{} beside {}: {} at once", ir::display_name(plan.steps[order[j]]),
                                ir::display_name(plan.steps[order[i]]), micros(both)));
    }
  if (more > 0) out.push_back(fmt::format("and {} more pairs of steps side by side", more));
  return out;
}

bool has_pairs_that_could(const std::vector<std::vector<int>>& dependencies) {
  for (size_t s = 1; s < dependencies.size(); ++s)
    if (dependencies[s].empty() || dependencies[s].back() + 1 < static_cast<int>(s)) return true;
  return false;
}

// Could a schedule save a part of the plan that counts?
bool could_be_faster(const PlanWidths& widths, double in_turn) {
  double steps = 0;  // on all units, without barriers
  for (const std::vector<double>& seconds : widths.problem.seconds) steps += seconds.back();
  return std::min(widths.bounds.least(), steps) < (1 - kWorthTrying) * in_turn;
}

// The widths of a schedule's steps, or the next narrower ones that are offered.
std::vector<int> choice_of(const std::vector<Assigned>& list, const WidthOptions& options) {
  std::vector<int> out;
  for (size_t s = 0; s < list.size(); ++s) {
    const auto wider =
        std::ranges::upper_bound(options[s], list[s].last - list[s].first, {}, &WidthOption::units);
    out.push_back(std::max(0, static_cast<int>(wider - options[s].begin()) - 1));
  }
  return out;
}

// How a plan's steps run side by side.
struct Candidate {
  std::vector<int> programs;  // per step
  std::vector<ir::Command> commands;
  std::vector<Assigned> list;
};

// Each step has the program of its width.
Candidate candidate_of(ir::Plan& plan, const ListProblem& problem, TouchedParts& parts,
                       const std::vector<Assigned>& list, WaitsFor waits = WaitsFor::steps) {
  Candidate out{{}, {}, list};
  for (size_t s = 0; s < list.size(); ++s) {
    const auto w = std::ranges::find(problem.widths, list[s].last - list[s].first);
    plan.steps[s].program = problem.programs[s][static_cast<size_t>(w - problem.widths.begin())];
    out.programs.push_back(plan.steps[s].program);
  }
  parts.take(out.programs);
  out.commands = synchronised(plan, list, problem.dependencies, parts, waits);
  return out;
}

// All steps on all units in the order of the plan, with fewer barriers; and those side by side that
// promise most.
std::vector<Candidate> candidates(ir::Plan plan, const PlanWidths& widths, TouchedParts& parts) {
  const ListProblem& problem = widths.problem;
  std::vector<Assigned> in_turn;
  for (size_t s = 0; s < plan.steps.size(); ++s)
    in_turn.push_back({0, plan.units, static_cast<double>(s), static_cast<double>(s) + 1});
  std::vector<std::vector<Assigned>> lists;
  std::vector<std::vector<int>> starts = {widths.allotment.choice};
  for (const double efficiency : kEfficiencies) {
    lists.push_back(list_schedule(problem, efficiency));
    starts.push_back(choice_of(lists.back(), widths.options));
  }
  for (const double price : kPrices) starts.push_back(priced(problem, widths.options, price));
  lists.push_back(improved(problem, widths.options, starts, widths.allotment.least));
  std::ranges::stable_sort(lists, {}, end_of);
  lists.resize(std::clamp(kMostSimulatedSteps / plan.steps.size(), kFewestSimulated, lists.size()));
  std::vector<Candidate> out = {candidate_of(plan, problem, parts, in_turn)};
  for (const std::vector<Assigned>& list : lists) {
    Candidate c = candidate_of(plan, problem, parts, list);
    const auto same = [&](const Candidate& other) {
      return other.programs == c.programs && other.commands == c.commands;
    };
    if (std::ranges::none_of(out, same)) out.push_back(std::move(c));
  }
  return out;
}

// The best plan so far, and what it was chosen from.
struct Best {
  ir::Plan plan;
  simulator::PlanEstimate estimate;
  ScheduleBounds bounds;
  bool tried = false;
  double of_work = 0;   // s, how much longer work makes it than the longest path does
  size_t others = 0;    // steps that have another program than alone
  double by_steps = 0;  // s, where units wait for parts of steps: where they wait for steps
  double seconds() const { return estimate.total.seconds; }
};

// `programs`: per step, of the plan. Whether it is the best.
bool simulate(Best& best, const Offered& o, ir::Plan tried, std::span<const int> programs,
              const model::Machine& m, const ScheduleBounds& bounds, double of_work) {
  size_t others = 0;
  for (size_t s = 0; s < programs.size(); ++s) others += programs[s] != o.steps[s].front();
  take_programs(tried, programs);
  place_arena(tried);
  simulator::PlanEstimate e = simulator::simulate(tried, m, simulator::TermDetail::none);
  if (e.total.seconds >= best.seconds()) return false;
  best = {std::move(tried), std::move(e), bounds, true, of_work, others};
  return true;
}

using WorthTrying = std::function<bool(const PlanWidths&)>;

void try_queues(Best& best, const Offered& o, const model::Machine& m,
                std::span<const int> residents, const WorthTrying& worth_trying) {
  TouchedParts parts(o.plan);
  for (const int resident : residents) {
    ir::Plan tried = o.plan;
    tried.resident = resident;
    const PlanWidths widths = widths_of(tried, m, parts, fitting(o, m, resident));
    if (!best.tried || widths.bounds.least() < best.bounds.least()) best.bounds = widths.bounds;
    best.tried = true;
    if (widths.bounds.least() >= best.seconds() || !worth_trying(widths)) continue;
    const double of_work = widths.bounds.least() - widths.bounds.critical_path;
    const auto is_best = [&](const Candidate& c) {
      tried.schedule = c.commands;
      return simulate(best, o, tried, c.programs, m, widths.bounds, of_work);
    };
    const std::vector<Candidate> all = candidates(tried, widths, parts);
    size_t chosen = 0;
    for (size_t c = 0; c < all.size(); ++c)
      if (is_best(all[c])) chosen = c;
    const double by_steps = best.by_steps > 0 ? best.by_steps : best.seconds();
    // The first one has all steps on all units: a barrier behind most of them.
    for (const size_t c : std::set<size_t>{0, chosen}) {
      const Candidate by_parts =
          candidate_of(tried, widths.problem, parts, all[c].list, WaitsFor::parts);
      if (by_parts.commands != all[c].commands && is_best(by_parts)) best.by_steps = by_steps;
    }
  }
}

// `problem`: of each step's own program, filled where it is empty.
void try_phases(Best& best, const Offered& o, const model::Machine& m, PhaseProblem& problem) {
  std::vector<int> own;
  for (const std::vector<int>& of : o.steps) own.push_back(of.front());
  if (problem.steps.empty()) problem = phase_problem(o.plan, m);
  const std::vector<int> other = o.has_others() ? put_others(problem, o, m) : std::vector<int>{};
  const ScheduleBounds bounds = {longest_path(problem), least_work(problem), 0};
  if (!best.tried) best.bounds = bounds;
  best.tried = true;
  if (bounds.least() >= best.seconds()) return;
  std::vector<std::pair<std::vector<std::vector<int>>, std::vector<int>>> seen;
  for (const Alike alike : {Alike::threads, Alike::needs, Alike::program}) {
    put_kinds(problem.steps, o, own, alike);
    put_kinds(problem.others, o, other, alike);
    ir::Plan tried = o.plan;
    tried.phases = phases(problem);
    std::vector<int> programs = own;
    for (const std::vector<int>& phase : tried.phases)
      for (size_t i = 0; takes_others(problem, phase) && i < phase.size(); ++i)
        programs[static_cast<size_t>(phase[i])] = other[static_cast<size_t>(phase[i])];
    const std::pair found{tried.phases, programs};
    if (tried.phases.size() == o.plan.steps.size() || std::ranges::find(seen, found) != seen.end())
      continue;
    seen.push_back(found);
    const double of_work = beyond_longest(problem, tried.phases);
    simulate(best, o, std::move(tried), programs, m, bounds, of_work);
  }
}

// The best plan whose steps may have other programs, made as the best one is whose steps have their
// own, where that saves a part that counts.
Best with_others(const Best& own, const Offered& all, const model::Machine& m, int most_resident,
                 PhaseProblem& problem, const WorthTrying& worth_trying) {
  Best best = own;
  if (!own.plan.phases.empty()) {
    try_phases(best, all, m, problem);
  } else {
    // As many groups on a unit as are best for their own; and more, where that has become possible.
    std::vector<int> residents = {own.plan.resident};
    if (const int most = residents_of(all, m).front(); most > most_resident)
      residents.push_back(most);
    try_queues(best, all, m, residents, worth_trying);
  }
  return best.seconds() < (1 - kWorthTrying) * own.seconds() ? best : own;
}

// Of steps that run side by side: how, and how much that is.
std::string how_told(const ir::Plan& plan, const Scheduled& s) {
  const std::string how = plan.phases.empty() ? "schedule"
                                              : fmt::format("{} steps in {} launches",
                                                            plan.steps.size(), plan.phases.size());
  return fmt::format("{}: {} predicted, the same steps one after the other {}", how,
                     micros(s.seconds), micros(s.in_turn));
}

}  // namespace

ScheduleBounds schedule_bounds(const ir::Plan& plan, const model::Machine& m) {
  if (plan.steps.empty()) return {};
  if (!plan.phases.empty()) {
    const PhaseProblem problem = phase_problem(plan, m);
    return {longest_path(problem), least_work(problem), 0};
  }
  TouchedParts parts(plan);
  return widths_of(plan, m, parts, offered(plan, m, {}).steps).bounds;
}

Scheduled schedule(ir::Plan& plan, const model::Machine& m, Schedule how, const Ways& ways) {
  Scheduled out;
  place_arena(plan);
  if (how == Schedule::off || plan.units < 2 || plan.steps.size() < 2) return out;
  out.in_turn = out.seconds =
      simulator::simulate(plan, m, simulator::TermDetail::none).total.seconds;
  Best best;
  best.estimate.total.seconds = std::numeric_limits<double>::infinity();
  PhaseProblem problem;
  const WorthTrying worth_trying = [&](const PlanWidths& widths) {
    return how != Schedule::automatic || could_be_faster(widths, out.in_turn);
  };
  const Offered own = offered(plan, m, {});
  const std::vector<int> residents = residents_of(own, m);
  if (ways.no_phases.empty()) try_phases(best, own, m, problem);
  if (ways.no_queues.empty()) try_queues(best, own, m, residents, worth_trying);
  const double by_own = best.seconds();
  if (ways.others && best.of_work > kWorthTrying * by_own &&
      has_pairs_that_could(dependencies_of(plan)))
    if (const Offered all = offered(plan, m, ways.others); all.has_others())
      best = with_others(best, all, m, residents.empty() ? 0 : residents.front(), problem,
                         worth_trying);
  out.bounds = best.bounds;
  if (best.plan.steps.empty()) {
    out.considered.push_back(
        best.tried ? fmt::format("no schedule saves {:.1f} % of {}", 100 * kWorthTrying,
                                 micros(out.in_turn))
                   : std::string("the groups of some step do not fit beside those of others"));
    return out;
  }
  const bool faster = best.seconds() < (1 - kWorthTrying) * out.in_turn;
  if (!faster && how == Schedule::automatic) {
    out.considered.push_back(fmt::format(
        "steps one after the other: {} predicted, side by side {}{}", micros(out.in_turn),
        micros(best.seconds()),
        has_pairs_that_could(dependencies_of(plan)) ? "" : "; each step waits for the one before"));
    return out;
  }
  plan = std::move(best.plan);
  out.seconds = best.estimate.total.seconds;
  if (!plan.phases.empty() && !ways.no_queues.empty())
    out.considered.push_back("steps are launched together, and do not stay on units: " +
                             ways.no_queues);
  const std::vector<std::string> pairs =
      plan.phases.empty() ? side_by_side(plan, best.estimate) : launched_together(plan);
  out.considered.insert(out.considered.end(), pairs.begin(), pairs.end());
  if (best.by_steps > 0)
    out.considered.push_back(
        fmt::format("units wait for parts of steps where they read no more: {} with, {} without",
                    micros(out.seconds), micros(best.by_steps)));
  if (best.others > 0)
    out.considered.push_back(
        fmt::format("{} of {} steps have another program than alone: {} with those, {} without",
                    best.others, plan.steps.size(), micros(out.seconds), micros(by_own)));
  out.considered.push_back(how_told(plan, out));
  return out;
}

}  // namespace assay::compiler
