// Tile-graphs: each reduction (or lone elementwise node) takes the elementwise nodes that follow it
// as an epilogue, handed over in registers (Welder, OSDI'23, 4.2: an edge connected at the register
// level; Hidet, ASPLOS'23, 5.3: post-scheduling fusion).
#pragma once

#include <vector>

#include "ir/graph.h"

namespace assay::compiler {

using NodeChain = std::vector<int>;  // nodes of one tile-graph in order; front() is the anchor

// Every node is in exactly one chain; chains are in an order in which they can run. A node joins
// the chain before it when it has no reduction, reads that chain's value at its own position, is
// the value's only reader, and has the same shape; nor does it call functions behind a product with
// reuse: their constants and temporaries would take the registers of its accumulators, in the
// innermost loop too, and cost more than a pass over memory. `free`: per node, computed by no step
// (empty: none is); such a node is a chain of its own that nothing joins.
std::vector<NodeChain> fuse(const ir::Graph& g, const std::vector<bool>& free = {});

// Can node `next` take the value of node `last` in registers?
bool can_follow(const ir::Graph& g, int last, int next);

// The chain as a graph of its own with neutral names, so that equal shapes give equal graphs.
struct ChainGraph {
  ir::Graph graph;
  std::vector<int> tensors;  // per tensor of `graph`, its id in the whole graph
};
ChainGraph extract(const ir::Graph& g, const NodeChain& chain);

}  // namespace assay::compiler
