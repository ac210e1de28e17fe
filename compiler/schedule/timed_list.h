// A schedule of steps whose widths are given, in the order of time.
//
// Whenever units become free, steps that could run begin by their bottom level, each on the
// shortest run of free units that has its width (Graham's list scheduling, 1966). One that finds
// too few begins on those, where it ends sooner so than if it waited. So no units idle beside a
// step that could use them, which an order by bottom level alone leaves behind.
#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "compiler/schedule/list_problem.h"

namespace assay::compiler {

class TimedList {  // invariant: refers to a problem and its options, which outlive it
 public:
  TimedList(const ListProblem& problem, const WidthOptions& options);

  // `choice`: per step, position in its options. Returns when the last step ends.
  double run(std::span<const int> choice);

  // Of the last run. Per step: its units and times.
  const std::vector<Assigned>& assigned() const { return assigned_; }
  // The steps that decide its end, the last one first: each begins as soon as the next one lets it,
  // on which it depends or whose units it takes.
  std::vector<int> critical() const;

 private:
  struct Event {
    double time = 0;
    int step = -1;
    enum class Kind { over, own_units, all_units } kind = Kind::over;
    auto operator<=>(const Event&) const = default;
  };
  struct Free {
    int first = 0, last = 0;
    int units() const { return last - first; }
  };

  void find_levels(std::span<const int> choice);
  void begin_steps(std::span<const int> choice);
  bool begin_on_own_units(int s, const WidthOption& c);
  bool begin_anywhere(int s, int choice);
  void begin(int s, const WidthOption& c, int first);
  void make_ready(int s);
  void find_free();
  double free_from(int units) const;
  void take_from_free(int first, int last);

  const ListProblem& p_;
  const WidthOptions& options_;
  const std::vector<std::vector<int>> readers_;
  std::vector<double> levels_;
  std::vector<Assigned> assigned_;
  std::vector<int> cause_;       // per step: which lets it begin; -1: none
  std::vector<size_t> missing_;  // per step: dependencies that have not begun
  std::vector<double> seen_,
      ends_;                   // per step: when its dependencies are seen everywhere, are over
  std::vector<double> until_;  // per unit: when it is free
  std::vector<int> user_;      // per unit: its last step
  std::vector<Free> free_;     // now
  std::vector<Event> events_;  // a heap
  std::set<std::pair<double, int>> ready_;  // by bottom level, largest first
  double now_ = 0;
  int over_ = -1;  // the step that was over last
};

}  // namespace assay::compiler
