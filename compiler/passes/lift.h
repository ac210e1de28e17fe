// Elementwise nodes behind a reshape, brought back to the shape of what they follow.
//
//   y[0, i, j] = x[i, j] + r[0, i, j]   is   y'[i, j] = x[i, j] + r[0, i, j],  y = y' reshaped
//
// In the shape of x the node is an epilogue of the product that x is; the reshape behind it costs
// nothing. Exporters that multiply matrices and want tensors (Gemm between reshapes) leave such
// nodes.
#pragma once

#include "ir/graph.h"

namespace assay::compiler {

ir::Graph lift_over_reshapes(ir::Graph g);

}  // namespace assay::compiler
