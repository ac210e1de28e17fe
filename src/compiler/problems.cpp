#include "compiler/problems.h"

#include "compiler/simplify.h"

namespace assay::compiler {

namespace {

Problem problem_of(const LaidOut& laid, const ChainGraph& chain) {
  Problem p;
  p.graph = chain.graph;
  for (int t : chain.tensors) {
    p.layouts.push_back(laid.layouts[static_cast<size_t>(t)]);
    p.packable.push_back(laid.graph.tensors[static_cast<size_t>(t)].constant >= 0);
  }
  return p;
}

// A graph of one operator has no neighbours: its inputs and outputs take the layout it likes best.
bool free_layouts(const ir::Graph& g) { return g.nodes.size() <= 2 && g.name.starts_with("operator:"); }

}  // namespace

Problems problems_of(const ir::Graph& graph, const model::Machine& m) {
  Problems out;
  out.laid = choose_layouts(simplify(graph), m.simt ? 1 : m.native_width, free_layouts(graph));
  for (const NodeChain& chain : fuse(out.laid.graph)) {
    TileGraph t;
    t.name = out.laid.graph.nodes[static_cast<size_t>(chain[0])].name;
    t.chain = extract(out.laid.graph, chain);
    t.problem = problem_of(out.laid, t.chain);
    out.tile_graphs.push_back(std::move(t));
  }
  return out;
}

}  // namespace assay::compiler
