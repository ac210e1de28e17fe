#include "compiler/schedule/synchronise.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace assay::compiler {

namespace {

using ir::Command;
using Kind = Command::Kind;

size_t at(int i) { return static_cast<size_t>(i); }

// Parts of one step that a unit waits for; for more, it waits for the whole step (decision 0027).
constexpr int kMostParts = 4;

using Units = std::pair<int, int>;  // [first, second)

class Synchroniser {  // invariant: refers to a plan that outlives it
 public:
  Synchroniser(const ir::Plan& plan, std::span<const Assigned> assigned,
               const std::vector<std::vector<int>>& dependencies, TouchedParts& parts,
               WaitsFor waits)
      : plan_(plan),
        parts_(parts),
        waits_(waits),
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
      for (const auto& [units, counter] : e.counters)
        out.push_back({Kind::signal, units.first, units.second, -1, 0, 0, counter});
    }
    return out;
  }

 private:
  struct Entry {
    Command command;
    std::map<Units, int> counters{};  // run: of its units that others wait for
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
    const bool by_parts =
        std::ranges::all_of(awaited, [&](int before) { return needs_few(before, s); });
    if (!awaited.empty() && !by_parts && a.first == 0 && a.last == plan_.units && plan_.units > 1) {
      barrier();
    } else {
      for (const int before : awaited)
        if (!is_over(before, s)) wait(before, s);
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
    const TouchedParts::Needed* few = needs_few(before, s) ? &needed(before, s) : nullptr;
    int same = -1;  // a clock that has shown it
    for (int y = b.first; y < b.last; ++y) {
      if (clock_[at(y)] == same) continue;
      const auto [shown, by_all] = is_over_for(before, s, y, few);
      if (!shown) return false;
      if (by_all) same = clock_[at(y)];
    }
    return true;
  }

  // Whether unit y knows it, and whether units with the same clock do as well.
  std::pair<bool, bool> is_over_for(int before, int s, int y, const TouchedParts::Needed* few) {
    const Assigned& a = assigned_[at(before)];
    const Run& run = runs_[at(before)];
    const std::vector<int>& known = clocks_[at(clock_[at(y)])];
    const Units need = few ? (*few)[at(y - assigned_[at(s)].first)] : Units{0, a.last - a.first};
    bool by_all = few == nullptr;
    for (int x = a.first + need.first; x < a.first + need.second; ++x) {
      if (known[at(x)] > run.position[at(x - a.first)]) continue;
      by_all = false;
      if (x != y && (few != nullptr || needs(before, x, s, y))) return {false, false};
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

  const TouchedParts::Needed& needed(int before, int s) {
    const Assigned &a = assigned_[at(before)], &b = assigned_[at(s)];
    return parts_.needed(before, a.last - a.first, s, b.last - b.first);
  }

  // Does each unit of `s` need half of the units of `before` or less, in few parts?
  bool needs_few(int before, int s) {
    if (waits_ == WaitsFor::steps) return false;
    const auto [known, fresh] = few_.try_emplace({before, s}, false);
    if (!fresh) return known->second;
    const Assigned& a = assigned_[at(before)];
    const std::vector<int> bounds = bounds_of(before, s);
    known->second = std::ranges::all_of(needed(before, s), [&](const Units& n) {
      const auto inside = std::ranges::count_if(
          bounds, [&](int bound) { return n.first <= bound && bound < n.second; });
      return inside <= kMostParts && 2 * (n.second - n.first) <= a.last - a.first;
    });
    return known->second;
  }

  // Where the parts of `before` begin and end that units of `s` need.
  std::vector<int> bounds_of(int before, int s) {
    std::vector<int> out;
    for (const auto& [first, last] : needed(before, s))
      if (first < last) out.insert(out.end(), {first, last});
    std::ranges::sort(out);
    const auto [same, end] = std::ranges::unique(out);
    out.erase(same, end);
    return out;
  }

  void wait(int before, int s) {
    const Assigned &a = assigned_[at(before)], &b = assigned_[at(s)];
    if (!needs_few(before, s)) return wait({a.first, a.last}, before, {b.first, b.last});
    const std::vector<int> bounds = bounds_of(before, s);
    for (size_t i = 0; i + 1 < bounds.size(); ++i)
      wait_for_part({bounds[i], bounds[i + 1]}, before, s);
  }

  // The units of `s` that need the part wait for it, other than the one whose own it is.
  void wait_for_part(Units part, int before, int s) {
    const Assigned &a = assigned_[at(before)], &b = assigned_[at(s)];
    const TouchedParts::Needed& need = needed(before, s);
    const Units writers = {a.first + part.first, a.first + part.second};
    const auto waits = [&](int y) {
      const auto [first, last] = need[at(y - b.first)];
      return first <= part.first && part.second <= last &&
             !(writers.first == y && writers.second == y + 1);
    };
    for (int y = b.first; y < b.last;) {
      int end = y;
      while (end < b.last && waits(end)) ++end;
      if (end > y) wait(writers, before, {y, end});
      y = end + 1;
    }
  }

  void wait(Units writers, int before, Units readers) {
    const Assigned& a = assigned_[at(before)];
    Run& run = runs_[at(before)];
    const bool whole = writers == Units{a.first, a.last};
    const auto [counter, fresh] = entries_[run.entry].counters.try_emplace(
        writers, whole ? before : static_cast<int>(plan_.steps.size()) + parts_counted_);
    if (fresh && !whole) ++parts_counted_;
    entries_.push_back({{Kind::wait, readers.first, readers.second, -1, 0, 0, counter->second,
                         writers.second - writers.first}});
    // What the signals tell, once for each clock that units have.
    std::vector<int> told(position_.size(), 0);
    int joined = -1;
    for (int x = writers.first; x < writers.second; ++x) {
      const int clock = run.clock[at(x - a.first)];
      if (clock != std::exchange(joined, clock)) join(told, clocks_[at(clock)]);
    }
    for (int x = writers.first; x < writers.second; ++x)
      told[at(x)] = std::max(told[at(x)], run.position[at(x - a.first)] + 1);
    int old = -1;
    for (int y = readers.first; y < readers.second; ++y) {
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
  const WaitsFor waits_;
  std::span<const Assigned> assigned_;
  const std::vector<std::vector<int>>& dependencies_;
  std::vector<Run> runs_;
  // Per clock and unit, commands that are over. Units that learn the same share a clock.
  std::vector<std::vector<int>> clocks_;
  std::vector<int> clock_;     // per unit
  std::vector<int> position_;  // per unit: commands so far, signals left out
  std::vector<Entry> entries_;
  std::map<std::pair<int, int>, bool> few_;  // needs_few
  int parts_counted_ = 0;                    // counters of parts
};

}  // namespace

std::vector<Command> synchronised(const ir::Plan& plan, std::span<const Assigned> assigned,
                                  const std::vector<std::vector<int>>& dependencies,
                                  TouchedParts& parts, WaitsFor waits) {
  return Synchroniser(plan, assigned, dependencies, parts, waits).commands();
}

}  // namespace assay::compiler
