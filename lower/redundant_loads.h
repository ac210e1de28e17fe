// Loads that a compiler keeps in a register instead of repeating: pointers are restrict, so all of
// them see it. A statement's load costs nothing where an earlier one of the same block, or one that
// encloses it, has read the same elements and no store to their buffer lies between; and a load
// that a loop does not move is done once before the loop. Equal loads have equal guards: those ask
// for the position, and where rows follow each other in memory the place past the end of one is in
// the next. Loads at looked-up positions stay where they are. Where registers do not suffice
// compilers load again, from the stack or from the same place: that is not seen here.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/kernel.h"

namespace assay::lower {

struct RedundantLoads {                       // points into the kernel
  std::unordered_set<const ir::Value*> free;  // cost nothing where they stand
  std::unordered_map<const ir::For*, std::vector<const ir::Value*>>
      before;  // are done once before a loop
};

RedundantLoads redundant_loads(const ir::Kernel& kernel);

}  // namespace assay::lower
