// Products of one tensor with several constants, side by side, as one product with the constants
// side by side: the queries, keys and values of an attention, the branches of a module of 1x1
// convolutions. Elementwise nodes behind each of them that do the same join.
//
// Why: one step reads the tensor once, and its groups fill more units. Left alone: what `faster`
// says is slower, as where readers of a part would read at odd places. Readers read their part of
// the one tensor by an index that `fold` composes.
// Source: horizontal merging of operators that share an input (TASO, SOSP'19, section 2.1).
#pragma once

#include "compiler/passes/choose_layouts.h"

namespace assay::compiler {

// `block`: as for choose_layouts.
ir::Graph merge_products(ir::Graph g, int64_t block, const Faster& faster);

}  // namespace assay::compiler
