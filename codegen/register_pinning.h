// Values that are loaded once and used by several operations. A compiler short of registers may
// rematerialise the load at each use, as the memory has not changed. A loop of multiply-adds is
// then bound by its load ports. g++ 12 does so for a product of four rows and three vectors of 32
// bytes, although all of it fits into 16 registers. A dialect's `pin` hides where the value was
// loaded from.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace assay::codegen {

// Per register: assigned once, by a load whose address varies with the innermost loop around it,
// and used more than once. Loop-invariant loads are left to compilers, which hoist them.
std::vector<bool> pinned_registers(const ir::Kernel& kernel);

}  // namespace assay::codegen
