// Which groups of a launch each unit runs, cut into pieces.
#pragma once

#include <vector>

#include "runtime/device.h"
#include "runtime/opencl/api.h"

namespace assay::runtime::opencl {

// Ranges of groups: begin and end of queue q of unit u are at 2 (u count + q); what is missing is
// empty.
struct Queues {
  std::vector<cl_long> ranges;
  cl_uint count = 0;  // of each unit
};

// A driver may start its units late: each queue is cut into pieces, so that who is through with its
// own takes over others' piece by piece.
Queues deal(const Launch& launch, int64_t groups, int units);

}  // namespace assay::runtime::opencl
