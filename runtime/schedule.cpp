#include "runtime/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace assay::runtime {

using Kind = ir::Command::Kind;

int units_of(std::span<const ir::Command> schedule) {
  int out = 0;
  for (const ir::Command& c : schedule) out = std::max(out, c.last);
  return out;
}

Diags check_schedule(std::span<const ir::Command> schedule, std::span<const int64_t> groups,
                     int units) {
  Diags out;
  const int all = units_of(schedule);
  for (size_t i = 0; i < schedule.size(); ++i) {
    const ir::Command& c = schedule[i];
    const auto fail = [&](const std::string& what) {
      out.push_back(error(fmt::format("command {}: {}", i, what)));
    };
    if (c.first < 0 || c.last > units || c.first >= c.last)
      fail(fmt::format("it is for units {} to {}, there are {}", c.first, c.last, units));
    if ((c.kind == Kind::signal || c.kind == Kind::wait) && c.counter < 0)
      fail("it names no counter");
    if (c.kind == Kind::barrier && (c.first != 0 || c.last != all))
      fail(fmt::format("it is a barrier of units {} to {}, the schedule has {}", c.first, c.last,
                       all));
    if (c.kind != Kind::run) continue;
    if (c.step < 0 || static_cast<size_t>(c.step) >= groups.size())
      fail(fmt::format("there is no launch {}, there are {}", c.step, groups.size()));
    else if (c.begin < 0 || c.end > groups[static_cast<size_t>(c.step)] || c.begin > c.end)
      fail(fmt::format("it runs groups {} to {} of {}", c.begin, c.end,
                       groups[static_cast<size_t>(c.step)]));
  }
  ir::ScheduleFault stuck;
  if (out.empty() && !ir::Order::of(schedule, all, &stuck)) out.push_back(std::move(stuck.diag));
  return out;
}

Diags check_phases(std::span<const std::vector<int>> phases, size_t launches) {
  Diags out;
  std::vector<int> phase_of(launches, -1);
  for (size_t p = 0; p < phases.size(); ++p) {
    const auto fail = [&](const std::string& what) {
      out.push_back(error(fmt::format("phase {}: {}", p, what)));
    };
    for (const int l : phases[p]) {
      if (l < 0 || static_cast<size_t>(l) >= launches) {
        fail(fmt::format("there is no launch {}, there are {}", l, launches));
        continue;
      }
      int& of = phase_of[static_cast<size_t>(l)];
      if (of >= 0) fail(fmt::format("launch {} is in phase {} already", l, of));
      of = static_cast<int>(p);
    }
  }
  for (size_t l = 0; l < launches; ++l)
    if (phase_of[l] < 0)
      out.push_back(error(fmt::format("launch {} is in none of {} phases", l, phases.size())));
  return out;
}

void add_steps(RunTimes& times, std::span<const Slice> slices,
               std::span<const ir::Command> schedule, size_t launches) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> begin(launches, kNever), end(launches, 0), steps(launches, 0);
  for (const Slice& s : slices) {
    const ir::Command& c = schedule[static_cast<size_t>(s.command)];
    if (c.kind != Kind::run) continue;
    const auto step = static_cast<size_t>(c.step);
    begin[step] = std::min(begin[step], s.begin);
    end[step] = std::max(end[step], s.end);
  }
  for (size_t s = 0; s < launches; ++s)
    if (begin[s] < kNever) steps[s] = end[s] - begin[s];
  times.busy.push_back(steps);
  times.steps.push_back(std::move(steps));
}

}  // namespace assay::runtime
