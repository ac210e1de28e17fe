// Transposes the scores of attention, so that the axis of their row reductions is not innermost.
//
//   s[h, i, j] = sum(k) q[h, i, k] t[h, j, k]   ->   s[h, j, i], with t's operand transposed
//   instead
//
// Why: softmax reduces along j. With j innermost its lanes are different rows, strided, and
// gathered one by one. Transposed they are contiguous for the maximum, the exponential and the sum.
// The next product reads scores as single elements anyway. Left alone: fewer than kFewestRows rows,
// scores that are an output, readers of another form. Source: none; it is a choice of layout for
// one group of tensors (compare Welder, OSDI'23).
#pragma once

#include "ir/graph.h"

namespace assay::compiler {

ir::Graph transpose_scores(ir::Graph g);

}  // namespace assay::compiler
