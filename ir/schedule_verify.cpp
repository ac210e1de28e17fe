// The plan's schedule against what its steps touch.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ir/accesses.h"
#include "ir/plan.h"
#include "ir/schedule.h"
#include "ir/touched.h"

namespace assay::ir {

namespace {

constexpr size_t kMostFaults = 10;
// Commands times classes of units that are checked: more than plans of many thousand steps have.
constexpr size_t kMostPlaces = size_t{1} << 26;
// Pairs of units of two commands; of more, each unit is taken to touch all.
constexpr int64_t kMostPairs = int64_t{1} << 20;

size_t at(int i) { return static_cast<size_t>(i); }

class ScheduleVerifier {  // invariant: refers to a plan that outlives it
 public:
  explicit ScheduleVerifier(const Plan& plan)
      : plan_(plan), schedule_(schedule_of(plan)), runs_(plan.steps.size()) {}

  std::vector<ScheduleFault> run() {
    for (int i = 0; i < static_cast<int>(schedule_.size()); ++i) check_command(schedule_[at(i)], i);
    if (!faults_.empty()) return std::move(faults_);
    for (size_t s = 0; s < plan_.steps.size(); ++s) check_groups(s);
    if (!faults_.empty()) return std::move(faults_);
    if (const size_t classes = count_unit_classes(schedule_, plan_.units);
        classes * schedule_.size() > kMostPlaces) {
      fail(-1, fmt::format("the schedule has {} commands for {} classes of units that do not do "
                           "alike, more than can be checked",
                           schedule_.size(), classes));
      return std::move(faults_);
    }
    ScheduleFault stuck;
    const std::optional<Order> order = Order::of(schedule_, plan_.units, &stuck);
    if (!order) return {std::move(stuck)};
    order_ = &*order;
    check_accesses();
    return std::move(faults_);
  }

 private:
  void fail(int command, const std::string& what, const std::string& hint = "") {
    if (faults_.size() < kMostFaults) faults_.push_back({command, error(what, hint)});
  }

  void check_command(const Command& c, int position) {
    const std::string where = fmt::format("command {} of the schedule", position);
    if (c.first < 0 || c.last > plan_.units || c.first >= c.last)
      return fail(position, fmt::format("{} is for units [{}, {}), there are {}", where, c.first,
                                        c.last, plan_.units));
    const bool counts = c.kind == Command::Kind::wait || c.kind == Command::Kind::signal;
    if (counts && c.counter < 0) return fail(position, where + " names no counter");
    if (c.kind == Command::Kind::barrier && (c.first != 0 || c.last != plan_.units))
      return fail(position, where + " is a barrier of some units; a barrier is of all");
    if (c.kind != Command::Kind::run) return;
    if (c.step < 0 || c.step >= static_cast<int>(plan_.steps.size()))
      return fail(position,
                  fmt::format("{} runs step {}, there are {}", where, c.step, plan_.steps.size()));
    runs_[at(c.step)].push_back(position);
  }

  const Program& program_of(int step) const {
    return plan_.programs[at(plan_.steps[at(step)].program)];
  }

  // Each group exactly once.
  void check_groups(size_t step) {
    const std::string& name = plan_.steps[step].name;
    const int64_t groups = group_count(program_of(static_cast<int>(step)));
    std::vector<int> runs = runs_[step];
    std::ranges::stable_sort(runs, {}, [this](int i) { return schedule_[at(i)].begin; });
    int64_t next = 0;
    for (const int i : runs) {
      const Command& c = schedule_[at(i)];
      if (c.begin < 0 || c.end > groups || c.begin >= c.end)
        return fail(i, fmt::format("step {} has {} groups, the schedule runs [{}, {})", name,
                                   groups, c.begin, c.end));
      if (c.begin < next)
        return fail(i, fmt::format("group {} of step {} runs twice", c.begin, name));
      if (c.begin > next) break;
      next = c.end;
    }
    if (next != groups)
      fail(runs.empty() ? -1 : runs.back(),
           fmt::format("group {} of step {} never runs", next, name));
  }

  void check_accesses() {
    each_conflict(
        plan_, [this](int old, int now) { return is_over(old, now); },
        [this](const Access& old, const Access& now) {
          if (conflict(old, now)) report(old, now);
        });
  }

  bool is_over(int old, int now) {
    const auto [known, fresh] = over_.try_emplace({old, now}, true);
    for (const int a : runs_[at(old)])
      for (const int b : runs_[at(now)])
        if (fresh) known->second = known->second && order_->before(a, b);
    return known->second;
  }

  // Is there a pair of units that touch the same elements, of which one is not over before the
  // other begins?
  bool conflict(const Access& old, const Access& now) {
    const bool same = old.tensor == now.tensor && old.begin == now.begin && old.argument >= 0 &&
                      now.argument >= 0 &&
                      shape_of(old.step, old.argument) == shape_of(now.step, now.argument);
    for (const int a : runs_[at(old.step)])
      for (const int b : runs_[at(now.step)]) {
        if (order_->before(a, b)) continue;
        const Command &ca = schedule_[at(a)], &cb = schedule_[at(b)];
        if (int64_t{ca.last - ca.first} * (cb.last - cb.first) > kMostPairs) {
          units_ = {ca.first, cb.first};
          command_ = b;
          return true;
        }
        for (int x = ca.first; x < ca.last; ++x)
          for (int y = cb.first; y < cb.last; ++y)
            if (!order_->before(a, x, b, y) && runs_any(ca, x) && runs_any(cb, y) &&
                (!same || overlap(box(a, x, old.argument), box(b, y, now.argument)))) {
              units_ = {x, y};
              command_ = b;
              return true;
            }
      }
    return false;
  }

  static bool runs_any(const Command& c, int unit) {
    const auto [begin, end] = groups_of(c, unit);
    return begin < end;
  }

  const std::vector<int64_t>& shape_of(int step, int argument) const {
    const Program& p = program_of(step);
    return p.graph.tensors[at(arguments_of(p)[at(argument)])].shape;
  }

  const Box& box(int command, int unit, int argument) {
    std::vector<Box>& known = boxes_[{command, unit}];
    if (known.empty()) {
      const Command& c = schedule_[at(command)];
      const int program = plan_.steps[at(c.step)].program;
      auto touched = touched_.find(program);
      if (touched == touched_.end())
        touched = touched_.emplace(program, plan_.programs[at(program)]).first;
      const auto [begin, end] = groups_of(c, unit);
      known = touched->second.of(begin, end);
    }
    return known[at(argument)];
  }

  void report(const Access& old, const Access& now) {
    const auto name = [&](int step) { return plan_.steps[at(step)].name; };
    fail(
        command_,
        fmt::format("steps {} on unit {} and {} on unit {} may run at once, but {}", name(old.step),
                    units_.first, name(now.step), units_.second, conflict_text(plan_, old, now)),
        "a barrier, or a signal behind the first and a wait before the second");
  }

  const Plan& plan_;
  const std::vector<Command> schedule_;
  std::vector<std::vector<int>> runs_;  // per step: its commands
  const Order* order_ = nullptr;
  std::map<std::pair<int, int>, bool> over_;
  std::map<int, TouchedBoxes> touched_;
  std::map<std::pair<int, int>, std::vector<Box>> boxes_;
  std::pair<int, int> units_;  // of the conflict found last
  int command_ = -1;           // the second of them
  std::vector<ScheduleFault> faults_;
};

}  // namespace

std::vector<ScheduleFault> schedule_faults(const Plan& plan) {
  return ScheduleVerifier(plan).run();
}

}  // namespace assay::ir
