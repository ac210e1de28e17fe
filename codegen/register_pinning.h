// Values that are loaded once and used by several operations. A compiler that runs short of
// registers loads them again for each, since it sees that the memory has not changed, and a loop of
// multiply-adds then waits for its load pipes: g++ 12 does so for a product of four rows and three
// vectors of 32 bytes, all of which fit into 16 registers. A dialect's `held` keeps it from knowing
// where the value came from.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace assay::codegen {

// Per register: assigned once, from memory, to what each iteration of the innermost loop around it
// loads anew, and used more than once. What a loop does not move is left to compilers, which load
// it before the loop.
std::vector<bool> pinned_registers(const ir::Kernel& kernel);

}  // namespace assay::codegen
