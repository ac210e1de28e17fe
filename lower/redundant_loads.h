// Loads that every compiler eliminates, since the kernels' pointers are restrict.
//
// Redundant load elimination: a load costs nothing after one of the same elements in its block, or
// in an enclosing one, with no store to their buffer between. Loop-invariant code motion: a load
// whose address a loop does not change runs once before the loop.
// Equal loads also need equal guards, since guards test positions: an address past the end of a row
// is the start of the next. Loads at looked-up positions are never moved. Spills and reloads for
// want of registers are not modelled here.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/kernel.h"

namespace assay::lower {

struct RedundantLoads {                             // points into the kernel
  std::unordered_set<const ir::Value*> eliminated;  // not executed in their place
  // Loads that run once before a loop.
  std::unordered_map<const ir::For*, std::vector<const ir::Value*>> hoisted;
};

RedundantLoads redundant_loads(const ir::Kernel& kernel);

}  // namespace assay::lower
