// Fuses epilogues: each reduction, or first elementwise node, and the elementwise nodes that follow
// it become one chain, which one step computes. Values pass from node to node in registers.
//
// Why: a bias or an activation costs a few instructions there, and two passes over memory as a
// step. Left alone: nodes of another shape, values with several readers, and functions (exp, erf)
// behind a product with reuse. Their temporaries would take accumulators' registers in the inner
// loop, too. Source: Welder, OSDI'23, section 4.2 (edges at the register level); Hidet, ASPLOS'23,
// section 5.3 (post-scheduling fusion).
#pragma once

#include <vector>

#include "ir/graph.h"

namespace assay::compiler {

using NodeChain = std::vector<int>;  // nodes of one tile-graph in order; front() is the anchor

// Every node is in exactly one chain, and chains are in an order in which they can run. A node
// joins a chain if `can_follow` holds for the chain's last node. `free`: per node, that no step
// computes it (empty: none); such a node is a chain of its own.
std::vector<NodeChain> fuse_epilogues(const ir::Graph& g, const std::vector<bool>& free = {});

// Can node `next` take the value of node `last` in registers? It has no reduction and the same
// shape, reads `last` at its own position and is its only reader.
bool can_follow(const ir::Graph& g, int last, int next);

// The chain as a graph of its own. Names are neutral, so equal chains give equal graphs.
struct ChainGraph {
  ir::Graph graph;
  std::vector<int> tensors;  // per tensor of `graph`, its id in the whole graph
};
ChainGraph extract(const ir::Graph& g, const NodeChain& chain);

}  // namespace assay::compiler
