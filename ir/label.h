// Labels: what a node or a step computes, in one line for tables. Names stay what other text refers
// to; a label is never parsed.
//
//   conv 64x56x56 3x3 (res2a_branch2a) + bias + relu
//   matmul 128x768x768 (MatMul_7)
//
// Shapes are of the output, without a leading batch of 1. Convolutions and pools add their window.
// Products are MxNxK, after their batches.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace assay::ir {

// The operator and its shape.
std::string label_of(const Graph& g, const Node& n);

// A chain of nodes in one step: the label of its first node, `name` in parentheses where it says
// more than the operator, and the operators of its epilogue.
std::string label_of(const Graph& chain, std::string_view name);

}  // namespace assay::ir
