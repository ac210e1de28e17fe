// Scores of attention, stored with the axis of their row reductions outside.
//
// Softmax reduces along the last axis of a product's result. Stored as the product writes it, its
// lanes (different rows) lie apart and are gathered one by one; with the last two axes swapped they
// are neighbours, for the maximum, the sum and the exponential alike, and the product that follows
// reads single elements anyway. The product itself is symmetric: its other operand is the one that
// is transposed now.
#pragma once

#include "ir/graph.h"

namespace assay::compiler {

ir::Graph transpose_row_reductions(ir::Graph g);

}  // namespace assay::compiler
