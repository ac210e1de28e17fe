#include "ir/positions.h"

namespace assay::ir {

std::vector<char> positions_of(const Graph& graph) {
  std::vector<char> position(graph.tensors.size(), 0);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& n = graph.nodes[i];
    const bool all = position[static_cast<size_t>(n.output)] != 0;
    each_use(n, [&](int tensor, bool as_position) {
      if (all || as_position) position[static_cast<size_t>(tensor)] = 1;
    });
  }
  return position;
}

}  // namespace assay::ir
