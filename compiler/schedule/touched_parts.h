// What units touch of a step's arguments, to know which need no signal of each other.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/plan.h"
#include "ir/touched.h"

namespace assay::compiler {

// Steps on equal ranges of `units` units, each with its even part of the groups (ir::groups_of).
class TouchedParts {  // invariant: refers to a plan that outlives it, whose programs stay
 public:
  // Up to so many units, what each needs of the others is looked up.
  static constexpr int kMostUnits = 16;

  explicit TouchedParts(const ir::Plan& plan);

  // From now on steps have these programs of the plan, which compute the same.
  void take(std::span<const int> programs);

  // Does unit y of step `s` touch an element that unit x of step `before` touches, one writing?
  bool meet(int before, int x, int s, int y, int units);

  // Does each unit of `s` need nothing of the other units of `before`? Of more than kMostUnits, not
  // all pairs are looked at: false is right, true may not be.
  bool are_own(int before, int s, int units);

  // Step `before` on `units` units and `s` on `readers`: per unit of `s`, the units [first, second)
  // of `before` from the first to the last that it needs; none: equal.
  using Needed = std::vector<std::pair<int, int>>;
  const Needed& needed(int before, int units, int s, int readers);

 private:
  using Arguments = std::vector<std::pair<int, int>>;  // of two steps, that one writes
  struct Part {                                        // of a step
    int step = 0, unit = 0, units = 0;
  };
  Arguments shared_arguments(int before, int s) const;
  bool meet(const Part& one, const Part& two, const Arguments& shared);
  const ir::Box& box(int step, int unit, int units, int argument);
  const std::vector<int64_t>& shape_of(int step, int argument) const;

  const ir::Plan& plan_;
  std::vector<int> programs_;                // per step
  std::map<int, ir::TouchedBoxes> touched_;  // per program
  std::map<std::tuple<int, int, int>, std::vector<ir::Box>> boxes_;
  std::map<std::tuple<int, int, int, Arguments>, bool> own_;  // of two programs, on so many units
  std::map<std::tuple<int, int, int, int, Arguments>, Needed> needed_;
};

}  // namespace assay::compiler
