// Which tensors hold positions: what lookups and scatters index with, and what that is computed
// from. They keep their values and their type where others are scaled, bounded or narrowed.
#pragma once

#include <variant>
#include <vector>

#include "ir/graph.h"

namespace assay::ir {

// Calls f(read's tensor, whether as a position) for each use of a tensor by a node.
template <class F>
void each_use(const Node& n, F f) {
  const auto tensor = [&](int read) { return n.reads[static_cast<size_t>(read)].tensor; };
  for (size_t r = 0; r < n.reads.size(); ++r)
    if (is_used(n, static_cast<int>(r))) f(n.reads[r].tensor, false);
  for (const Read& r : n.reads)
    if (r.lookup) f(tensor(r.lookup->read), true);
  if (const auto* scatter = std::get_if<Scatter>(&n.kind)) {
    f(tensor(scatter->initial), false);
    for (const Position& p : scatter->positions) f(tensor(p.read), true);
  }
}

// Per tensor of the graph, 1: it holds positions.
std::vector<char> positions_of(const Graph& graph);

}  // namespace assay::ir
