// Drops nodes that no output needs, then tensors and constants that nothing names, and renumbers.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace assay::import {

// Per tensor its new number, -1: dropped.
std::vector<int> prune(ir::Graph& g);

}  // namespace assay::import
