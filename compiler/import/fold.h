// Constant folding: nodes whose reads are all constants become constants themselves. Floats are
// computed by ir::evaluate in float64 and rounded once; integers exactly, in 64 bits.
#pragma once

#include <cstddef>

#include "compiler/import/context.h"

namespace assay::import {

// Folds the nodes from `first` on, which read constants or one another only, and removes them.
// Refuses what exceeds the options' limits.
void fold_nodes(Context& c, size_t first);

}  // namespace assay::import
