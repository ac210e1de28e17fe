#include "compiler/passes/fuse_epilogues.h"

#include <algorithm>
#include <map>

#include "compiler/passes/rewrite.h"
#include "ir/computed_type.h"

namespace assay::compiler {

namespace {

// Does the form of `next` allow it? Other readers of `last` are not looked at.
bool is_elementwise_on(const ir::Graph& g, const ir::Node& last, const ir::Node& next) {
  if (!ir::is_elementwise(next) || !ir::is_expression(last) || is_output(g, last.output))
    return false;
  if (std::any_of(next.reads.begin(), next.reads.end(),
                  [](const ir::Read& r) { return r.lookup.has_value(); }))
    return false;
  const auto& a = g.tensors[static_cast<size_t>(last.output)];
  const auto& b = g.tensors[static_cast<size_t>(next.output)];
  if (a.shape != b.shape || !ir::keeps_value(g, last)) return false;
  // The value stays in a register; of i32, it is converted there.
  const ir::DType from = ir::computed_in(g, last), to = ir::computed_in(g, next);
  if (from != to && !ir::converts(from, to)) return false;
  for (const ir::Read& r : next.reads)
    if (r.tensor == last.output && !is_identity(g, r)) return false;
  return true;
}

// The first node of the chain that `n` is in.
int anchor_of(const ir::Graph& g, int n) {
  for (const ir::Read& r : g.nodes[static_cast<size_t>(n)].reads) {
    const int producer = ir::producer_of(g, r.tensor);
    if (producer >= 0 && can_follow(g, producer, n)) return anchor_of(g, producer);
  }
  return n;
}

}  // namespace

bool can_follow(const ir::Graph& g, int last, int next) {
  const ir::Node &a = g.nodes[static_cast<size_t>(last)], &b = g.nodes[static_cast<size_t>(next)];
  if (!is_elementwise_on(g, a, b) || ir::consumers_of(g, a.output).size() != 1) return false;
  return !has_functions(b.body) ||
         !reuses_operands(g, g.nodes[static_cast<size_t>(anchor_of(g, last))]);
}

std::vector<NodeChain> fuse_epilogues(const ir::Graph& g, const std::vector<bool>& free) {
  const auto is_free = [&](int n) { return !free.empty() && free[static_cast<size_t>(n)]; };
  std::vector<NodeChain> chains;
  std::vector<int> chain_of(g.nodes.size(), -1);
  for (int n = 0; n < static_cast<int>(g.nodes.size()); ++n) {
    const ir::Node& node = g.nodes[static_cast<size_t>(n)];
    int joined = -1;
    for (const ir::Read& r : node.reads) {
      const int producer = ir::producer_of(g, r.tensor);
      if (producer < 0 || joined >= 0 || is_free(producer) || is_free(n)) continue;
      const int c = chain_of[static_cast<size_t>(producer)];
      if (chains[static_cast<size_t>(c)].back() == producer && can_follow(g, producer, n))
        joined = c;
    }
    if (joined < 0) {
      joined = static_cast<int>(chains.size());
      chains.emplace_back();
    }
    chains[static_cast<size_t>(joined)].push_back(n);
    chain_of[static_cast<size_t>(n)] = joined;
  }
  // A chain stands where its last node stood, after everything that its nodes read.
  std::stable_sort(chains.begin(), chains.end(),
                   [](const NodeChain& a, const NodeChain& b) { return a.back() < b.back(); });
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
