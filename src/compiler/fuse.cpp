#include "compiler/fuse.h"

#include <algorithm>
#include <map>

namespace assay::compiler {

namespace {

// Each dimension is read at the position of its own axis; along an extent of 1 that is 0.
bool is_identity(const ir::Graph& g, const ir::Read& r) {
  if (r.guarded) return false;
  const std::vector<int64_t>& shape = g.tensors[static_cast<size_t>(r.tensor)].shape;
  for (size_t d = 0; d < r.index.size(); ++d) {
    const bool lone = shape[d] == 1 && r.index[d] == ir::constant(0);
    if (!lone && r.index[d] != ir::variable(static_cast<int>(d))) return false;
  }
  return true;
}

bool is_output(const ir::Graph& g, int tensor) {
  return std::find(g.outputs.begin(), g.outputs.end(), tensor) != g.outputs.end();
}

// Can `next` take the value of `last` in registers?
bool joins(const ir::Graph& g, const ir::Node& last, const ir::Node& next) {
  if (next.combine != ir::Combiner::none || is_output(g, last.output)) return false;
  const auto& a = g.tensors[static_cast<size_t>(last.output)];
  const auto& b = g.tensors[static_cast<size_t>(next.output)];
  if (a.shape != b.shape || a.dtype != b.dtype) return false;
  for (const ir::Read& r : next.reads)
    if (r.tensor == last.output && !is_identity(g, r)) return false;
  return true;
}

}  // namespace

std::vector<NodeChain> fuse(const ir::Graph& g) {
  std::vector<NodeChain> chains;
  std::vector<int> chain_of(g.nodes.size(), -1);
  for (int n = 0; n < static_cast<int>(g.nodes.size()); ++n) {
    const ir::Node& node = g.nodes[static_cast<size_t>(n)];
    int joined = -1;
    for (const ir::Read& r : node.reads) {
      const int producer = ir::producer_of(g, r.tensor);
      if (producer < 0 || joined >= 0) continue;
      const int c = chain_of[static_cast<size_t>(producer)];
      const bool tail = chains[static_cast<size_t>(c)].back() == producer;
      if (tail && ir::consumers_of(g, r.tensor).size() == 1 && joins(g, g.nodes[static_cast<size_t>(producer)], node)) joined = c;
    }
    if (joined < 0) {
      joined = static_cast<int>(chains.size());
      chains.emplace_back();
    }
    chains[static_cast<size_t>(joined)].push_back(n);
    chain_of[static_cast<size_t>(n)] = joined;
  }
  // A chain runs when its last node could: everything its nodes read was written before.
  std::stable_sort(chains.begin(), chains.end(), [](const NodeChain& a, const NodeChain& b) { return a.back() < b.back(); });
  return chains;
}

ChainGraph extract(const ir::Graph& g, const NodeChain& chain) {
  ChainGraph out;
  std::map<int, int> local;
  const auto tensor = [&](int t) {
    const auto [it, fresh] = local.emplace(t, static_cast<int>(out.tensors.size()));
    if (fresh) {
      ir::Tensor copy = g.tensors[static_cast<size_t>(t)];
      copy.name = "t" + std::to_string(it->second);
      copy.constant = -1;
      out.graph.tensors.push_back(std::move(copy));
      out.tensors.push_back(t);
    }
    return it->second;
  };
  for (int n : chain) {
    ir::Node node = g.nodes[static_cast<size_t>(n)];
    node.name = node.op + std::to_string(out.graph.nodes.size());
    for (ir::Read& r : node.reads) r.tensor = tensor(r.tensor);
    node.output = tensor(node.output);
    out.graph.nodes.push_back(std::move(node));
  }
  out.graph.name = out.graph.nodes[0].op;
  for (int t = 0; t < static_cast<int>(out.tensors.size()); ++t)
    if (ir::producer_of(out.graph, t) < 0) out.graph.inputs.push_back(t);
  out.graph.outputs = {out.graph.nodes.back().output};
  return out;
}

}  // namespace assay::compiler
