#include "compiler/problems.h"

#include <algorithm>

#include "compiler/absorb.h"
#include "compiler/fold.h"
#include "compiler/join.h"
#include "compiler/lift.h"
#include "compiler/simplify.h"
#include "compiler/split.h"
#include "compiler/turn.h"

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

// Everything that needs no step of its own is gone.
ir::Graph smaller(const ir::Graph& graph) {
  ir::Graph g = fold_maps(lift_over_reshapes(fold_maps(turn_row_reductions(simplify(graph)))));
  g = multiply_by_reciprocals(postpone_factors(absorb(std::move(g))));
  return drop_unread(std::move(g));
}

// A graph of one operator has no neighbours: its inputs and outputs take the layout it likes best.
bool free_layouts(const ir::Graph& g) { return g.nodes.size() <= 2 && g.name.starts_with("operator:"); }

// Nodes whose output lies where their operand lies.
std::vector<bool> free_nodes(const ir::Graph& g, const std::vector<int>& storage) {
  std::vector<bool> out;
  for (const ir::Node& n : g.nodes)
    out.push_back(std::any_of(n.reads.begin(), n.reads.end(), [&](const ir::Read& r) {
      return storage[static_cast<size_t>(r.tensor)] == storage[static_cast<size_t>(n.output)];
    }));
  return out;
}

// Of all units' waves: a few dozen accumulators of each of some twenty waves a unit, which hide each other's latency. Assumed.
constexpr double kResultsPerLane = 600;

// A wave's lanes need no blocks, and reads past the end of a row no padding: rows are split once layouts are chosen.
LaidOut laid_out_for_waves(ir::Graph graph, const model::Machine& m, bool free_io) {
  LaidOut out = choose_layouts(std::move(graph), 1, free_io);
  out.graph = split_long_sums(split_row_reductions(out.graph, m.native_width, true), kResultsPerLane * m.units * m.native_width);
  for (size_t t = out.layouts.size(); t < out.graph.tensors.size(); ++t) out.layouts.push_back(ir::row_major(static_cast<int>(out.graph.tensors[t].shape.size())));
  return out;
}

}  // namespace

Problems problems_of(const ir::Graph& graph, const model::Machine& m) {
  Problems out;
  out.laid = m.simt ? laid_out_for_waves(smaller(graph), m, free_layouts(graph))
                    : choose_layouts(split_row_reductions(smaller(graph), m.native_width), m.native_width, free_layouts(graph));
  out.storage = storage_of(out.laid.graph, out.laid.layouts);
  const std::vector<bool> free = free_nodes(out.laid.graph, out.storage);
  for (const NodeChain& chain : fuse(out.laid.graph, free)) {
    if (free[static_cast<size_t>(chain[0])]) continue;
    TileGraph t;
    t.name = out.laid.graph.nodes[static_cast<size_t>(chain[0])].name;
    t.chain = extract(out.laid.graph, chain);
    t.problem = problem_of(out.laid, t.chain);
    if (m.simt) t.problem = join_axes(std::move(t.problem));
    out.tile_graphs.push_back(std::move(t));
  }
  return out;
}

}  // namespace assay::compiler
