#include "compiler/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "compiler/passes/place.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/list_schedule.h"
#include "compiler/schedule/synchronise.h"
#include "simulator/estimate.h"
#include "simulator/step_widths.h"

namespace assay::compiler {

namespace {

// Of steps that run beside others (list_schedule.h). All are tried, and those that end first are
// simulated.
constexpr std::array<double, 4> kEfficiencies = {0, 0.8, 0.95, 1.01};
constexpr size_t kMostSimulated = 2;

// Of a plan's time: what schedules are tried for, and have to save.
constexpr double kWorthTrying = 0.005;

constexpr size_t kMostLines = 12;  // of steps side by side, for people

// All units, and those halves of them that are whole.
std::vector<int> widths_of(int units) {
  std::vector<int> out = {units};
  for (int w = 1; w < units; w *= 2) out.push_back(w);
  std::ranges::sort(out);
  return out;
}

std::string micros(double seconds) { return fmt::format("{:.4g} us", seconds * 1e6); }

// Which steps overlap in time on different units.
std::vector<std::string> side_by_side(const ir::Plan& plan, const simulator::PlanEstimate& e) {
  struct Span {
    int step = 0;
    double begin = 0, end = 0;
  };
  std::vector<Span> runs;
  std::vector<int> position(plan.steps.size(), -1);
  for (const simulator::Slice& s : e.timeline) {
    const ir::Command& c = plan.schedule[static_cast<size_t>(s.command)];
    if (c.kind != ir::Command::Kind::run) continue;
    int& p = position[static_cast<size_t>(c.step)];
    if (p < 0) {
      p = static_cast<int>(runs.size());
      runs.push_back({c.step, s.begin, s.end});
    }
    Span& span = runs[static_cast<size_t>(p)];
    span = {c.step, std::min(span.begin, s.begin), std::max(span.end, s.end)};
  }
  std::vector<std::string> out;
  size_t more = 0;
  for (size_t i = 0; i < runs.size(); ++i)
    for (size_t j = i + 1; j < runs.size() && runs[j].begin < runs[i].end; ++j) {
      const double both = std::min(runs[i].end, runs[j].end) - runs[j].begin;
      const double shorter = std::min(runs[i].end - runs[i].begin, runs[j].end - runs[j].begin);
      if (both < shorter / 2) continue;
      if (out.size() == kMostLines) {
        ++more;
        continue;
      }
      const auto name = [&](const Span& s) {
        return ir::display_name(plan.steps[static_cast<size_t>(s.step)]);
      };
      out.push_back(
          fmt::format("{} beside {}: {} at once", name(runs[j]), name(runs[i]), micros(both)));
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

// The chip as a schedule has it: a barrier is one of groups that stay, and a unit has so many.
model::Machine with_residents(model::Machine m, int resident) {
  if (resident <= 0) return m;
  m.launch.value = std::max(1e-12, model::resident_barrier_of(m, m.units * resident));
  m.resident_groups = std::min<double>(m.resident_groups, resident);
  return m;
}

ListProblem problem_of(const ir::Plan& plan, const model::Machine& m) {
  ListProblem out;
  out.units = plan.units;
  out.widths = widths_of(plan.units);
  out.seconds = simulator::step_widths(plan, m, out.widths);
  out.dependencies = dependencies_of(plan);
  out.hand_off = m.launch.value;
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
  return bounds_of(problem_of(plan, with_residents(m, plan.resident)));
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
    const ListProblem problem = problem_of(tried, with_residents(m, resident));
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
