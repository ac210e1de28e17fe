// The schedule of a plan: steps side by side where the simulator says that this is faster than one
// after the other with a barrier between (Rammer, OSDI'20).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ir/plan.h"
#include "model/machine.h"

namespace assay::compiler {

// No schedule: a barrier behind each step. Whatever is predicted to be faster. The best of the
// schedules that run steps side by side, also where none is faster.
enum class Schedule { off, automatic, always };

// s. No schedule that has each step on one range of units takes less: the longest path, each step
// at its fastest; all work at its least, spread over the units; and both at once, where a step is
// as wide for the path as for the work (allotment.h).
struct ScheduleBounds {
  double critical_path = 0, work = 0, both = 0;
  double least() const { return std::max({critical_path, work, both}); }
  bool operator==(const ScheduleBounds&) const = default;
};
ScheduleBounds schedule_bounds(const ir::Plan& plan, const model::Machine& m);

struct Scheduled {
  double seconds = 0, in_turn = 0;  // s of a run, predicted: as scheduled, and one after the other
  ScheduleBounds bounds;
  std::vector<std::string> considered;  // for people, a line each
  std::string why_not;  // nothing runs side by side there; "": it may, or nothing was asked
  bool operator==(const Scheduled&) const = default;
};

// Fills the plan's schedule, or leaves it empty, and places its tensors. Pre: constants are placed;
// no transfers.
Scheduled schedule(ir::Plan& plan, const model::Machine& m, Schedule how);

}  // namespace assay::compiler
