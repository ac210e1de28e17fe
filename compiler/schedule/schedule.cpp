#include "compiler/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "compiler/passes/place.h"
#include "compiler/schedule/allotment.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/improve.h"
#include "compiler/schedule/list_schedule.h"
#include "compiler/schedule/synchronise.h"
#include "compiler/schedule/widths.h"
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

// A plan's steps on so many units, and what no schedule of them beats.
struct Widths {
  ListProblem problem;
  WidthOptions options;
  Allotment allotment;
  ScheduleBounds bounds;
};

Widths widths_of(const ir::Plan& plan, const model::Machine& m, TouchedParts& parts) {
  Widths out;
  out.problem = list_problem(plan, simulator::with_residents(m, plan.resident), parts);
  out.options = width_options(out.problem);
  out.allotment = allotted(out.problem, out.options);
  const double launch = plan.resident > 0 ? m.launch.value : 0;
  out.bounds = {launch + longest_path(out.problem, out.options),
                launch + least_work(out.problem, out.options), launch + out.allotment.least};
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
bool could_be_faster(const Widths& widths, double in_turn) {
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

// All steps on all units in the order of the plan, with fewer barriers; and those side by side that
// promise most.
std::vector<std::vector<ir::Command>> candidates(const ir::Plan& plan, const Widths& widths,
                                                 TouchedParts& parts) {
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
  std::vector<std::vector<ir::Command>> out = {
      synchronised(plan, in_turn, problem.dependencies, parts)};
  for (const std::vector<Assigned>& list : lists) {
    auto commands = synchronised(plan, list, problem.dependencies, parts);
    if (std::ranges::find(out, commands) == out.end()) out.push_back(std::move(commands));
  }
  return out;
}

}  // namespace

ScheduleBounds schedule_bounds(const ir::Plan& plan, const model::Machine& m) {
  if (plan.steps.empty()) return {};
  TouchedParts parts(plan);
  return widths_of(plan, m, parts).bounds;
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
  TouchedParts parts(plan);
  for (const int resident : residents_of(plan, m)) {
    ir::Plan tried = plan;
    tried.resident = resident;
    const Widths widths = widths_of(tried, m, parts);
    if (!tried_any || widths.bounds.least() < out.bounds.least()) out.bounds = widths.bounds;
    tried_any = true;
    if (widths.bounds.least() >= best_estimate.total.seconds) continue;
    if (how == Schedule::automatic && !could_be_faster(widths, out.in_turn)) continue;
    for (std::vector<ir::Command>& commands : candidates(tried, widths, parts)) {
      tried.schedule = std::move(commands);
      place_arena(tried);
      simulator::PlanEstimate e = simulator::simulate(tried, m, simulator::TermDetail::none);
      if (e.total.seconds >= best_estimate.total.seconds) continue;
      best = tried;
      best_estimate = std::move(e);
      out.bounds = widths.bounds;
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
