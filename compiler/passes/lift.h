// Lifts elementwise nodes over a reshape, to the shape of the reduction that they follow.
//
//   y[0, i, j] = x[i, j] + r[0, i, j]   ->   y'[i, j] = x[i, j] + r[0, i, j],  y = y' reshaped
//
// Why: in the shape of x the node is an epilogue of the product x, and a reshape of row-major
// tensors costs nothing. Exporters write such nodes around Gemm. Left alone: tensors of rank 4 and
// more, whose layout may be blocked so that a reshape copies them. Source: none; the composition of
// indices is that of rewrite.h.
#pragma once

#include "ir/graph.h"

namespace assay::compiler {

ir::Graph lift_over_reshapes(ir::Graph g);

}  // namespace assay::compiler
