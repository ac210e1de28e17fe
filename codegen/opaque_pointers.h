// Pointers whose provenance is hidden from the compiler: one per group of loads in a loop whose
// addresses differ only by constants. A compiler that knows the provenance may address each load as
// base, index and a long displacement. Such an operand takes an issue slot of its own. clang 14
// does so: a product of 30 rows by one vector of 64 bytes took a quarter longer. A dialect's
// `opaque_*` copies the pointer into a name of unknown provenance; addresses add displacements.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace assay::codegen {

struct OpaquePointer {
  int buffer = -1;
  ir::Index place;  // the lowest element that is loaded through it
  bool operator==(const OpaquePointer&) const = default;
};

// For an innermost loop without stores: addresses that vary with the loop and from which it loads
// vectors or splats at two or more constant offsets. Only unconditional loads count, of read-only
// arguments and of group memory.
std::vector<OpaquePointer> opaque_pointers(const ir::Kernel& kernel, const ir::For& loop);

}  // namespace assay::codegen
