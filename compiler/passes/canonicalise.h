// Graph -> smaller graph of the same meaning.
#pragma once

#include "ir/graph.h"

namespace assay::compiler {

// A per-channel scale and shift after a sum of products with constant weights: the scale goes into
// the weights, the shift stays as an epilogue. Then nodes nothing reads are dropped, and constants
// nothing reads.
ir::Graph simplify(ir::Graph g);

// Without nodes, tensors and constants that nothing reads.
ir::Graph drop_unread(ir::Graph g);

}  // namespace assay::compiler
