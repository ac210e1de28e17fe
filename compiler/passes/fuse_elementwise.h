// Elementwise nodes whose bodies their readers compute themselves, so that no step stands for them:
// a centred value inside the sum of its squares, the parts of GELU, the parts of a normalisation.
#pragma once

#include "ir/graph.h"

namespace assay::compiler {

// An elementwise node goes into all its readers, or stays. It goes when no reader computes it more
// often than it has elements, several readers only if it is cheap and reads one large tensor; never
// into a product, whose operands are best left as they are stored, and not when a reduction before
// it takes it as an epilogue for nothing.
ir::Graph absorb(ir::Graph g);

// f(x / c) = f(x * (1/c)), within a rounding, for f = exp, tanh, erf (GELU): a division takes as
// long as a dozen products. Nowhere else: a floor might give 0 for 1.
ir::Graph multiply_by_reciprocals(ir::Graph g);

// x[m, k] * f[m] under a sum over k: the factor (or divisor) goes behind the sum, where there is
// less of it to do, and its node disappears into the product's epilogue. Softmax's division, in
// attention.
ir::Graph postpone_factors(ir::Graph g);

}  // namespace assay::compiler
