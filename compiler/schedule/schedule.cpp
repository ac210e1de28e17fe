#include "compiler/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "compiler/passes/place.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/list_schedule.h"
#include "compiler/schedule/synchronise.h"
#include "simulator/estimate.h"
#include "simulator/step_spans.h"
#include "simulator/step_widths.h"
#include "simulator/unit_range.h"

namespace assay::compiler {

namespace {

// Of steps that run beside others (list_schedule.h). All are tried, and those that end first are
// simulated.
constexpr std::array<double, 4> kEfficiencies = {0, 0.8, 0.95, 1.01};
constexpr size_t kMostSimulated = 2;

// Of a plan's time: what schedules are tried for, and have to save.
constexpr double kWorthTrying = 0.005;

constexpr size_t kMostLines = 12;  // of steps side by side, for people

// Powers of two, as numbers of groups often are, and all units.
std::vector<int> widths_of(int units) {
  std::vector<int> out = {units};
  for (int w = 1; w < units; w *= 2) out.push_back(w);
  std::ranges::sort(out);
  return out;
}

std::string micros(double seconds) { return fmt::format("{:.4g} us", seconds * 1e6); }

// Which steps overlap in time on different units.
std::vector<std::string> side_by_side(const ir::Plan& plan, const simulator::PlanEstimate& e) {
  const std::vector<simulator::StepSpan> spans =
      simulator::step_spans(plan.schedule, plan.steps.size(), e.timeline);
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

double least_of(const ScheduleBounds& b) { return std::max(b.critical_path, b.work); }

ListProblem problem_of(const ir::Plan& plan, const model::Machine& m) {
  const model::Machine inside = simulator::with_residents(m, plan.resident);
  ListProblem out;
  out.units = plan.units;
  out.widths = widths_of(plan.units);
  out.seconds = simulator::step_widths(plan, inside, out.widths);
  out.dependencies = dependencies_of(plan);
  out.hand_off = inside.launch.value;
  return out;
}

// Numbers of groups that stay on a unit: none where units have queues of their own, else all halves
// of the most that fit.
std::vector<int> residents_of(const ir::Plan& plan, const model::Machine& m) {
  if (!m.simt) return {0};
  std::vector<int> out;
  for (int k = simulator::most_resident(plan, m); k > 0; k /= 2) out.push_back(k);
  return out;
}

// Could a schedule save a part of the plan that counts?
bool could_be_faster(const ListProblem& problem, const ScheduleBounds& bounds, double in_turn) {
  double steps = 0;  // on all units, without barriers
  for (const std::vector<double>& seconds : problem.seconds) steps += seconds.back();
  return std::min(least_of(bounds), steps) < (1 - kWorthTrying) * in_turn;
}

// All steps on all units in the order of the plan, with fewer barriers; and those side by side that
// promise most.
std::vector<std::vector<ir::Command>> candidates(const ir::Plan& plan, const ListProblem& problem) {
  std::vector<Assigned> in_turn;
  for (size_t s = 0; s < plan.steps.size(); ++s)
    in_turn.push_back({0, plan.units, static_cast<double>(s), static_cast<double>(s) + 1});
  std::vector<std::vector<Assigned>> lists;
  for (const double efficiency : kEfficiencies) lists.push_back(list_schedule(problem, efficiency));
  std::ranges::stable_sort(lists, {}, [](const std::vector<Assigned>& all) {
    return std::ranges::max(all, {}, &Assigned::end).end;
  });
  lists.resize(std::min(lists.size(), kMostSimulated));
  std::vector<std::vector<ir::Command>> out = {synchronised(plan, in_turn, problem.dependencies)};
  for (const std::vector<Assigned>& list : lists) {
    auto commands = synchronised(plan, list, problem.dependencies);
    if (std::ranges::find(out, commands) == out.end()) out.push_back(std::move(commands));
  }
  return out;
}

}  // namespace

ScheduleBounds schedule_bounds(const ir::Plan& plan, const model::Machine& m) {
  return bounds_of(problem_of(plan, m));
}

Scheduled schedule(ir::Plan& plan, const model::Machine& m, Schedule how) {
  Scheduled out;
  place_arena(plan);
  if (how == Schedule::off || plan.units < 2 || plan.steps.size() < 2) return out;
  out.in_turn = out.seconds =
      simulator::simulate(plan, m, simulator::TermDetail::none).total.seconds;
  ir::Plan best;
  simulator::PlanEstimate best_estimate;
  best_estimate.total.seconds = std::numeric_limits<double>::infinity();
  bool tried_any = false;
  for (const int resident : residents_of(plan, m)) {
    ir::Plan tried = plan;
    tried.resident = resident;
    const ListProblem problem = problem_of(tried, m);
    const ScheduleBounds bounds = bounds_of(problem);
    if (!tried_any || least_of(bounds) < least_of(out.bounds)) out.bounds = bounds;
    tried_any = true;
    if (how == Schedule::automatic && !could_be_faster(problem, bounds, out.in_turn)) continue;
    for (std::vector<ir::Command>& commands : candidates(tried, problem)) {
      tried.schedule = std::move(commands);
      place_arena(tried);
      simulator::PlanEstimate e = simulator::simulate(tried, m, simulator::TermDetail::none);
      if (e.total.seconds >= best_estimate.total.seconds) continue;
      best = tried;
      best_estimate = std::move(e);
      out.bounds = bounds;
    }
  }
  if (best.schedule.empty()) {
    out.considered.push_back(
        tried_any ? fmt::format("no schedule saves {:.1f} % of {}", 100 * kWorthTrying,
                                micros(out.in_turn))
                  : std::string("the groups of some step do not fit beside those of others"));
    return out;
  }
  const bool faster = best_estimate.total.seconds < (1 - kWorthTrying) * out.in_turn;
  if (!faster && how == Schedule::automatic) {
    out.considered.push_back(fmt::format(
        "steps one after the other: {} predicted, side by side {}{}", micros(out.in_turn),
        micros(best_estimate.total.seconds),
        has_pairs_that_could(dependencies_of(plan)) ? "" : "; each step waits for the one before"));
    return out;
  }
  plan = std::move(best);
  out.seconds = best_estimate.total.seconds;
  out.considered = side_by_side(plan, best_estimate);
  out.considered.push_back(fmt::format("schedule: {} predicted, one step after the other {}",
                                       micros(out.seconds), micros(out.in_turn)));
  return out;
}

}  // namespace assay::compiler
