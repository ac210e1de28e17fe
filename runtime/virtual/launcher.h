// Simulates a launch: assigns groups to units and runs all streams of operations concurrently in
// simulated time.
#pragma once

#include <vector>

#include "runtime/launch.h"
#include "runtime/virtual/streams.h"

namespace assay::runtime::simulated {

// Where lanes are vectors, `queues` name units. Where they are threads, groups go to units in
// order, as these become free. `join`: ticks until all units participate.
Outcome simulate(Machine& machine, const Job& job, const Launch& launch, int64_t groups,
                 double join);

// Units that have work in a launch.
int active_units(const Chip& chip, const Launch& launch, int64_t groups);

}  // namespace assay::runtime::simulated
