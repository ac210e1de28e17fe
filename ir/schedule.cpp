#include "ir/schedule.h"

#include <algorithm>
#include <set>

#include "ir/plan.h"

namespace assay::ir {

std::pair<int64_t, int64_t> groups_of(const Command& run, int unit) {
  const int64_t n = run.last - run.first, u = unit - run.first, groups = run.end - run.begin;
  return {run.begin + groups * u / n, run.begin + groups * (u + 1) / n};
}

std::vector<Command> schedule_of(const Plan& plan) {
  if (!plan.schedule.empty()) return plan.schedule;
  std::vector<Command> out;
  const auto run = [&](int s) {
    const Step& step = plan.steps[static_cast<size_t>(s)];
    out.push_back({Command::Kind::run, 0, plan.units, s, 0,
                   group_count(plan.programs[static_cast<size_t>(step.program)])});
  };
  const auto wait = [&] { out.push_back({Command::Kind::barrier, 0, plan.units}); };
  for (const std::vector<int>& phase : plan.phases) {
    for (const int s : phase) run(s);
    wait();
  }
  for (int s = 0; plan.phases.empty() && s < static_cast<int>(plan.steps.size()); ++s) {
    run(s);
    wait();
  }
  return out;
}

namespace {

std::set<int> borders_of(std::span<const Command> schedule, int units) {
  std::set<int> out = {0, units};
  for (const Command& c : schedule) {
    out.insert(c.first);
    out.insert(c.last);
  }
  return out;
}

}  // namespace

size_t count_unit_classes(std::span<const Command> schedule, int units) {
  return borders_of(schedule, units).size() - 1;
}

std::vector<UnitClass> unit_classes(std::span<const Command> schedule, int units) {
  const std::set<int> borders = borders_of(schedule, units);
  std::vector<UnitClass> out;
  for (auto b = borders.begin(); std::next(b) != borders.end(); ++b)
    out.push_back({*b, *std::next(b), {}});
  for (int i = 0; i < static_cast<int>(schedule.size()); ++i) {
    const Command& c = schedule[static_cast<size_t>(i)];
    for (auto k = std::ranges::lower_bound(out, c.first, {}, &UnitClass::first);
         k != out.end() && k->first < c.last; ++k)
      k->queue.push_back(i);
  }
  return out;
}

}  // namespace assay::ir
