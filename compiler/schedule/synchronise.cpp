#include "compiler/schedule/synchronise.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace assay::compiler {

namespace {

using ir::Command;
using Kind = Command::Kind;

size_t at(int i) { return static_cast<size_t>(i); }

class Synchroniser {  // invariant: refers to a plan that outlives it
 public:
  Synchroniser(const ir::Plan& plan, std::span<const Assigned> assigned,
               const std::vector<std::vector<int>>& dependencies, TouchedParts& parts)
      : plan_(plan),
        parts_(parts),
        assigned_(assigned),
        dependencies_(dependencies),
        runs_(plan.steps.size()),
        clocks_(1, std::vector<int>(at(plan.units), 0)),
        clock_(at(plan.units), 0),
        position_(at(plan.units), 0) {}

  std::vector<Command> commands() {
    std::vector<int> order(plan_.steps.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [this](int s) { return assigned_[at(s)].begin; });
    for (const int s : order) add(s);
    std::vector<Command> out;
    for (const Entry& e : entries_) {
      out.push_back(e.command);
      if (e.signals)
        out.push_back({Kind::signal, e.command.first, e.command.last, -1, 0, 0, e.command.step});
    }
    return out;
  }

 private:
  struct Entry {
    Command command;
    bool signals = false;  // run: others wait for it
  };
  struct Run {
    size_t entry = 0;
    std::vector<int> position;  // per unit of its range: commands before it
    std::vector<int> clock;     // per unit of its range, what it knew
  };

  void add(int s) {
    const Assigned& a = assigned_[at(s)];
    std::vector<int> awaited;
    for (const int before : dependencies_[at(s)])
      if (!is_over(before, s)) awaited.push_back(before);
    if (!awaited.empty() && a.first == 0 && a.last == plan_.units && plan_.units > 1) {
      barrier();
    } else {
      for (const int before : awaited)
        if (!is_over(before, s)) wait(before, a);
    }
    Run& run = runs_[at(s)];
    run.entry = entries_.size();
    for (int u = a.first; u < a.last; ++u) {
      run.position.push_back(position_[at(u)]++);
      run.clock.push_back(clock_[at(u)]);
    }
    const auto& program = plan_.programs[at(plan_.steps[at(s)].program)];
    entries_.push_back({{Kind::run, a.first, a.last, s, 0, ir::group_count(program)}});
  }

  // Does each unit of `s` know that all is over that it needs of `before`?
  bool is_over(int before, int s) {
    const Assigned& b = assigned_[at(s)];
    int same = -1;  // a clock that has shown it
    for (int y = b.first; y < b.last; ++y) {
      if (clock_[at(y)] == same) continue;
      const auto [shown, by_all] = is_over_for(before, s, y);
      if (!shown) return false;
      if (by_all) same = clock_[at(y)];
    }
    return true;
  }

  // Whether unit y knows it, and whether units with the same clock do as well.
  std::pair<bool, bool> is_over_for(int before, int s, int y) {
    const Assigned& a = assigned_[at(before)];
    const Run& run = runs_[at(before)];
    const std::vector<int>& known = clocks_[at(clock_[at(y)])];
    bool by_all = true;
    for (int x = a.first; x < a.last; ++x) {
      if (known[at(x)] > run.position[at(x - a.first)]) continue;
      by_all = false;
      if (x != y && needs(before, x, s, y)) return {false, false};
    }
    return {true, by_all};
  }

  bool needs(int before, int x, int s, int y) {
    const Assigned &a = assigned_[at(before)], &b = assigned_[at(s)];
    const int units = a.last - a.first;
    if (a.first != b.first || a.last != b.last || units > TouchedParts::kMostUnits) return true;
    return parts_.meet(before, x - a.first, s, y - a.first, units);
  }

  void barrier() {
    entries_.push_back({{Kind::barrier, 0, plan_.units}});
    for (int& p : position_) ++p;
    std::ranges::fill(clock_, new_clock(position_));
  }

  void wait(int before, const Assigned& here) {
    const Assigned& a = assigned_[at(before)];
    Run& run = runs_[at(before)];
    entries_[run.entry].signals = true;
    entries_.push_back({{Kind::wait, here.first, here.last, -1, 0, 0, before, a.last - a.first}});
    // What the signals tell, once for each clock that units have.
    std::vector<int> told(position_.size(), 0);
    int joined = -1;
    for (int x = a.first; x < a.last; ++x) {
      const int clock = run.clock[at(x - a.first)];
      if (clock != std::exchange(joined, clock)) join(told, clocks_[at(clock)]);
    }
    for (int x = a.first; x < a.last; ++x)
      told[at(x)] = std::max(told[at(x)], run.position[at(x - a.first)] + 1);
    int old = -1;
    for (int y = here.first; y < here.last; ++y) {
      if (clock_[at(y)] != std::exchange(old, clock_[at(y)])) {
        std::vector<int> known = clocks_[at(old)];
        join(known, told);
        new_clock(std::move(known));
      }
      clock_[at(y)] = static_cast<int>(clocks_.size()) - 1;
      ++position_[at(y)];
    }
  }

  static void join(std::vector<int>& known, const std::vector<int>& told) {
    for (size_t u = 0; u < known.size(); ++u) known[u] = std::max(known[u], told[u]);
  }

  int new_clock(std::vector<int> known) {
    clocks_.push_back(std::move(known));
    return static_cast<int>(clocks_.size()) - 1;
  }

  const ir::Plan& plan_;
  TouchedParts& parts_;
  std::span<const Assigned> assigned_;
  const std::vector<std::vector<int>>& dependencies_;
  std::vector<Run> runs_;
  // Per clock and unit, commands that are over. Units that learn the same share a clock.
  std::vector<std::vector<int>> clocks_;
  std::vector<int> clock_;     // per unit
  std::vector<int> position_;  // per unit: commands so far, signals left out
  std::vector<Entry> entries_;
};

}  // namespace

std::vector<Command> synchronised(const ir::Plan& plan, std::span<const Assigned> assigned,
                                  const std::vector<std::vector<int>>& dependencies,
                                  TouchedParts& parts) {
  return Synchroniser(plan, assigned, dependencies, parts).commands();
}

}  // namespace assay::compiler
