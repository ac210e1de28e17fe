// Canonicalisation: folds batch normalisation into the weights before it, then removes dead nodes.
//
//   y = (sum w x) s[o] + b[o]   ->   y = (sum (w s[o]) x) + b[o]
//
// Why: the scale costs a product per element of the output, folded it costs nothing at run time.
// The shift stays, as an epilogue. Left alone: scales that are not constant, that act on no
// dimension of the weights, or whose product has another reader. Source: Jacob et al., CVPR'18,
// section 3.2 (batch normalisation folding).
#pragma once

#include "ir/graph.h"

namespace assay::compiler {

ir::Graph canonicalise(ir::Graph g);

// Dead code elimination: drops nodes, tensors and constants that nothing reads.
ir::Graph drop_unread(ir::Graph g);

}  // namespace assay::compiler
