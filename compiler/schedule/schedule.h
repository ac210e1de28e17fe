// The schedule of a plan: steps side by side where the simulator says that this is faster than one
// after the other with a barrier between (Rammer, OSDI'20).
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/bounds.h"
#include "compiler/schedule/programs.h"
#include "ir/plan.h"
#include "model/machine.h"

namespace assay::compiler {

// No schedule: a barrier behind each step. Whatever is predicted to be faster. The best of the
// schedules that run steps side by side, also where none is faster.
enum class Schedule { off, automatic, always };

// How a chip can run steps side by side, each with why it can not: "": it can.
struct Ways {
  std::string no_queues;                // units with queues of their own
  std::string no_phases = "not asked";  // steps launched together (phases.h)
  // Asked where a schedule could be faster if its steps took less work; empty: each step has the
  // program that it has.
  OtherPrograms others = {};
};

// Of the plan as it stands, with one program for each step.
ScheduleBounds schedule_bounds(const ir::Plan& plan, const model::Machine& m);

struct Scheduled {
  double seconds = 0, in_turn = 0;  // s of a run, predicted: as scheduled, and one after the other
  ScheduleBounds bounds;
  std::vector<std::string> considered;  // for people, a line each
  std::string why_not;  // nothing runs side by side there; "": it may, or nothing was asked
  bool operator==(const Scheduled&) const = default;
};

// Fills the plan's schedule or its phases, or leaves both empty, and places its tensors. Pre:
// constants are placed; no transfers.
Scheduled schedule(ir::Plan& plan, const model::Machine& m, Schedule how, const Ways& ways = {});

}  // namespace assay::compiler
