// Drops nodes that no output needs, then tensors and constants that nothing names, and renumbers.
#pragma once

#include "ir/graph.h"

namespace assay::import {

void prune(ir::Graph& g);

}  // namespace assay::import
