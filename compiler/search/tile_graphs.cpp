#include "compiler/search/tile_graphs.h"

#include <algorithm>
#include <utility>

#include "compiler/passes/collapse_axes.h"

namespace assay::compiler {

Problem problem_of(const LaidOut& laid, const ChainGraph& chain) {
  Problem p;
  p.graph = chain.graph;
  for (int t : chain.tensors) {
    p.layouts.push_back(laid.layouts[static_cast<size_t>(t)]);
    p.packable.push_back(laid.graph.tensors[static_cast<size_t>(t)].constant >= 0);
  }
  return p;
}

std::vector<TileGraph> form_tile_graphs(const LaidOut& laid, const std::vector<bool>& free,
                                        const model::Machine& m, bool epilogues) {
  std::vector<NodeChain> chains;
  if (epilogues) chains = fuse_epilogues(laid.graph, free);
  for (int n = 0; !epilogues && n < static_cast<int>(laid.graph.nodes.size()); ++n)
    chains.push_back({n});
  std::vector<TileGraph> out;
  for (const NodeChain& chain : chains) {
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

TileGraphs form_tile_graphs(LaidOut laid, const model::Machine& m, bool epilogues) {
  TileGraphs out;
  out.laid = read_slices(std::move(laid));
  out.storage = storage_of(out.laid);
  out.parts = form_tile_graphs(out.laid, free_nodes(out.laid.graph, out.storage), m, epilogues);
  return out;
}

std::string key_of(const Problem& p) {
  std::string key = ir::print_graph(p.graph);
  for (size_t t = 0; t < p.layouts.size(); ++t)
    key += ir::print(p.layouts[t]) + (p.packable[t] ? "c\n" : "\n");
  for (const int64_t extent : p.group) key += std::to_string(extent) + " ";
  if (p.waves > 1) key += std::to_string(p.waves) + " waves ";
  for (const bool kept : p.on_chip.on_chip) key += kept ? "k" : "-";
  if (p.on_chip.scratch_bytes > 0)
    key += std::to_string(p.on_chip.scratch_bytes) + " " + std::to_string(p.on_chip.repeats);
  return key;
}

}  // namespace assay::compiler
