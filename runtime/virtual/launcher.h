// A launch: its groups dealt to units, and all streams of operations side by side in simulated
// time.
#pragma once

#include <string>
#include <vector>

#include "runtime/launch.h"
#include "runtime/virtual/executor.h"

namespace assay::runtime::simulated {

struct Outcome {
  double ticks = 0;      // until the last group has ended
  std::string fault;     // "": none
  int64_t executed = 0;  // operations, those of loops that settled left out
};

// Where lanes are vectors, `queues` name units; where they are threads, groups go to units in
// order, as these become free. `join`: ticks until all units take part.
Outcome simulate(Machine& machine, const Code& code, std::span<const View> arguments,
                 const Launch& launch, int64_t groups, double join);

// Units that a launch gives work to.
int active_units(const Chip& chip, const Launch& launch, int64_t groups);

}  // namespace assay::runtime::simulated
