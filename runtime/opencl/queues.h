// The groups of a launch, as queues per unit.
#pragma once

#include <vector>

#include "runtime/device.h"
#include "runtime/opencl/api.h"

namespace assay::runtime::opencl {

// Ranges of groups: begin and end of queue q of unit u are at 2 (u count + q). Missing queues are
// empty ranges.
struct Queues {
  std::vector<cl_long> ranges;
  cl_uint count = 0;  // of each unit
};

// Splits each queue into pieces. A driver may start its units late, and units that have finished
// their own queues then steal pieces of others.
Queues split_queues(const Launch& launch, int64_t groups, int units);

}  // namespace assay::runtime::opencl
