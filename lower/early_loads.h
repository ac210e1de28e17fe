// Threads take their instructions in order and wait at the first use of what they loaded: a load in
// front of each use is a wait for each. Compilers of GPUs bring the loads of a block together;
// whoever reads our kernels in order (a simulated chip, a driver that compiles in a hurry) finds
// them so.
#pragma once

#include "ir/kernel.h"

namespace assay::lower {

inline constexpr int kLoadsTogether =
    16;  // as many registers as are reserved beside the accumulators

// Between statements that are no assignments or stores, loads come first, at most so many together:
// into registers of their own where they stood inside of values, those that a block loads again
// into the same. The values stay as they are: no load passes a store to its buffer.
void bring_loads_forward(ir::Kernel& kernel);

}  // namespace assay::lower
