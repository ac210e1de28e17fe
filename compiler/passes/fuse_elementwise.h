// Fuses elementwise nodes into their readers, and moves factors behind the sums that read them.
//
// Why: a step for an elementwise node reads and writes whole tensors for little arithmetic.
// Inlined, GELU and the parts of a normalisation take one step, and a sum of squares centres its
// values itself. Left alone: operands of products, which are packed as they are stored; nodes that
// a reader would compute more often than once per element; and epilogues, which cost no step
// already. Source: inlining of Halide (PLDI'13) and of Ansor (OSDI'20, section 4.1).
#pragma once

#include "ir/graph.h"

namespace assay::compiler {

// A node is inlined into all its readers or into none. With several readers it must be cheap and
// read at most one large tensor, since each computes it again.
ir::Graph fuse_elementwise(ir::Graph g);

// f(x / c) = f(x * (1/c)) up to rounding, for f = exp, tanh, erf: a division takes as long as a
// dozen products. For no other f: a floor could give 0 instead of 1.
ir::Graph multiply_by_reciprocals(ir::Graph g);

// sum(k) (x[m, k] f[m]) y[k, n] = f[m] sum(k) x[m, k] y[k, n], for a factor or divisor f. The
// scaling becomes the product's epilogue: softmax's division, in attention. Left alone where the
// output has more elements than the scaled operand.
ir::Graph postpone_factors(ir::Graph g);

}  // namespace assay::compiler
