// Simulates a launch: assigns groups to units and runs all streams of operations concurrently in
// simulated time.
#pragma once

#include <string>
#include <vector>

#include "runtime/launch.h"
#include "runtime/virtual/executor.h"

namespace assay::runtime::simulated {

struct Outcome {
  double ticks = 0;      // until the last group has ended
  std::string fault;     // "": none
  int64_t executed = 0;  // operations, without skipped iterations of settled loops
};

// Where lanes are vectors, `queues` name units. Where they are threads, groups go to units in
// order, as these become free. `join`: ticks until all units participate.
Outcome simulate(Machine& machine, const Code& code, std::span<const View> arguments,
                 const Launch& launch, int64_t groups, double join);

// Units that have work in a launch.
int active_units(const Chip& chip, const Launch& launch, int64_t groups);

}  // namespace assay::runtime::simulated
