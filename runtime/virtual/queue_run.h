// Simulates a schedule: units that work through queues of their own. Where lanes are threads, the
// groups that stay on a unit go through its rows as those of CUDA's kernel do (queue_table.h).
#pragma once

#include <span>
#include <vector>

#include "runtime/device.h"
#include "runtime/virtual/streams.h"

namespace assay::runtime::simulated {

struct QueueCosts {    // ticks
  double barrier = 0;  // from a signal, or the last arrival, until other units see it
  double meeting = 0;  // the same among the groups of one unit
};

struct QueueOutcome {
  Outcome all;
  std::vector<Slice> slices;  // ticks
};

// Pre: check_schedule() finds no error; `resident` groups fit a unit.
QueueOutcome simulate_queues(Machine& machine, std::span<const Job> jobs,
                             std::span<const ir::Command> schedule, int resident,
                             const QueueCosts& costs);

}  // namespace assay::runtime::simulated
