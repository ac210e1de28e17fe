// Pointers that a loop walks: what it loads at places of which only constants tell one from the
// other. A compiler that knows how a pointer came about may write each address as base, index and a
// long displacement, and such an operand takes a slot of its own beside the operation: clang 14
// does so, and a product of 30 rows by one vector of 64 bytes took a quarter longer. A dialect's
// `walked_*` takes the pointer in a name whose origin is not known; the displacements are left to
// the addresses.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace assay::codegen {

struct OpaquePointer {
  int buffer = -1;
  ir::Index place;  // the first of those it loads
  bool operator==(const OpaquePointer&) const = default;
};

// Of an innermost loop that stores nothing: places from which it loads vectors, or elements for all
// lanes, at two constants and more, which it moves. Only what is loaded whatever happens, from
// arguments that are read only and from the group's own memory.
std::vector<OpaquePointer> opaque_pointers(const ir::Kernel& kernel, const ir::For& loop);

}  // namespace assay::codegen
