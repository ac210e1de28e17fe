// The queues of a schedule in time, from completion to completion.
//
// Units whose queues and groups are alike advance together. What runs at the same time shares the
// memories: each has at most the bandwidth that it takes alone, and where these exceed a memory's
// the units that want most get equal parts (max-min fairness).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/schedule.h"
#include "simulator/estimate.h"

namespace assay::simulator {

// What a run takes on its units while no others are busy.
struct RunDemand {
  double seconds = 0;                // of the unit that has the most groups
  double most_groups = 1;            // that one's
  std::vector<double> bandwidths{};  // per memory, the part of its bandwidth that all units take
};

struct QueueCosts {
  double barrier = 0;   // s, from the last arrival to the start of all
  double hand_off = 0;  // s, from a signal until other units see it
  size_t memories = 0;  // that are shared
  // s between two runs of a unit that follow each other: its groups wait for each other, since the
  // second run may read what the first wrote.
  double between = 0;
};

struct QueueTimes {
  std::vector<Slice> slices;  // by begin; without those that take no time
  double seconds = 0;         // of all
};

// `demand_of`: asked once for each run, in the order in which they begin. Pre: the schedule ends in
// all orders (ir::Order).
QueueTimes run_queues(std::span<const ir::Command> schedule, int units, const QueueCosts& costs,
                      const std::function<RunDemand(int command)>& demand_of);

}  // namespace assay::simulator
