#include "compiler/search/tile_graphs.h"

#include <algorithm>
#include <limits>
#include <map>

#include "compiler/passes/canonicalise.h"
#include "compiler/passes/collapse_axes.h"
#include "compiler/passes/fold.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/lift.h"
#include "compiler/passes/pack_strided.h"
#include "compiler/passes/split_reductions.h"
#include "compiler/passes/transpose_scores.h"

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
  ir::Graph g = fold_maps(lift_over_reshapes(fold_maps(transpose_row_reductions(simplify(graph)))));
  g = multiply_by_reciprocals(postpone_factors(absorb(std::move(g))));
  return drop_unread(std::move(g));
}

// A graph of one operator has no neighbours: its inputs and outputs take the layout it likes best.
bool free_layouts(const ir::Graph& g) {
  return g.nodes.size() <= 2 && g.name.starts_with("operator:");
}

// Nodes whose output lies where their operand lies.
std::vector<bool> free_nodes(const ir::Graph& g, const std::vector<int>& storage) {
  std::vector<bool> out;
  for (const ir::Node& n : g.nodes)
    out.push_back(std::any_of(n.reads.begin(), n.reads.end(), [&](const ir::Read& r) {
      return storage[static_cast<size_t>(r.tensor)] == storage[static_cast<size_t>(n.output)];
    }));
  return out;
}

// Of all units' waves: a few dozen accumulators of each of some twenty waves a unit, which hide
// each other's latency. Assumed.
constexpr double kResultsPerLane = 600;

std::vector<TileGraph> tile_graphs_of(const LaidOut& laid, const std::vector<bool>& free,
                                      const model::Machine& m) {
  std::vector<TileGraph> out;
  for (const NodeChain& chain : fuse(laid.graph, free)) {
    if (free[static_cast<size_t>(chain[0])]) continue;
    TileGraph t;
    t.name = laid.graph.nodes[static_cast<size_t>(chain[0])].name;
    t.chain = extract(laid.graph, chain);
    t.problem = problem_of(laid, t.chain);
    if (m.simt) t.problem = collapse_axes(std::move(t.problem));
    out.push_back(std::move(t));
  }
  return out;
}

// Ways to compute a node compared by the programs that would be chosen. Equal questions have equal
// answers.
class Comparison {  // invariant: refers to a target and a machine that outlive it
 public:
  Comparison(const hwdesc::Target& target, const model::Machine& m) : target_(target), m_(m) {}

  // Of a few nodes one after the other, the caches empty before.
  double seconds_of(const LaidOut& laid) {
    double out = 0;
    for (const TileGraph& t :
         tile_graphs_of(laid, std::vector<bool>(laid.graph.nodes.size()), m_)) {
      const auto [it, fresh] =
          known_.emplace(key_of(t.problem), std::numeric_limits<double>::infinity());
      if (fresh)
        if (const Result<Constructed> made =
                construct(t.problem, target_, m_, {},
                          std::vector<simulator::Range>(t.chain.tensors.size()), 1);
            made.ok())
          it->second = made->best.front().estimate.seconds;
      out += it->second;
    }
    return out;
  }

 private:
  const hwdesc::Target& target_;
  const model::Machine& m_;
  std::map<std::string, double> known_;
};

// A wave's lanes need no blocks, and reads past the end of a row no padding: rows are split once
// layouts are chosen.
LaidOut laid_out_for_waves(ir::Graph graph, const hwdesc::Target& target, const model::Machine& m,
                           bool free_io) {
  Comparison comparison(target, m);
  const double results = kResultsPerLane * m.units * m.native_width;
  const Faster in_parts = [&](const LaidOut& now, const LaidOut& then) {
    return comparison.seconds_of(then) < comparison.seconds_of(now);
  };
  const auto at_best = [&](const LaidOut& laid) {
    return comparison.seconds_of(split_long_sums(laid, results, in_parts));
  };
  LaidOut out = choose_layouts(std::move(graph), 1, free_io);
  out = compact_strided(
      std::move(out), m.native_width,
      [&](const LaidOut& now, const LaidOut& then) { return at_best(then) < at_best(now); });
  out.graph = split_row_reductions(out.graph, m.native_width, true);
  return split_long_sums(with_new_tensors_laid_out(std::move(out)), results, in_parts);
}

}  // namespace

std::string key_of(const Problem& p) {
  std::string key = ir::print_graph(p.graph);
  for (size_t t = 0; t < p.layouts.size(); ++t)
    key += ir::print(p.layouts[t]) + (p.packable[t] ? "c\n" : "\n");
  return key;
}

Problems problems_of(const ir::Graph& graph, const hwdesc::Target& target,
                     const model::Machine& m) {
  Problems out;
  out.laid = m.simt ? laid_out_for_waves(smaller(graph), target, m, free_layouts(graph))
                    : choose_layouts(split_row_reductions(smaller(graph), m.native_width),
                                     m.native_width, free_layouts(graph));
  out.storage = storage_of(out.laid.graph, out.laid.layouts);
  out.tile_graphs = tile_graphs_of(out.laid, free_nodes(out.laid.graph, out.storage), m);
  return out;
}

}  // namespace assay::compiler
