// Scheduling of loads for threads. A thread issues in order and waits at the first use of a loaded
// value, so a load in front of each use is a wait for each. GPU compilers group the loads of a
// block. Kernels are printed grouped for readers that do not: simulated chips, drivers that compile
// without optimising.
#pragma once

#include "ir/kernel.h"

namespace assay::lower {

// The registers reserved beside the accumulators.
inline constexpr int kLoadBatch = 16;

// In each run of assignments and stores, moves up to kLoadBatch loads to the front. A load
// inside a value gets a register, and repeated loads of a block share it. No load moves past a
// store to its buffer, so results are the same.
void bring_loads_forward(ir::Kernel& kernel);

}  // namespace assay::lower
