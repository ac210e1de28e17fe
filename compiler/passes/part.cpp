#include "compiler/passes/part.h"

#include <algorithm>

#include "compiler/passes/rewrite.h"

namespace assay::compiler {

ir::Graph part_with(const ir::Graph& g, const std::vector<bool>& inside) {
  ir::Graph out;
  out.name = "part";
  std::vector<int> to(g.tensors.size(), -1);
  const auto moved = [&](int tensor) {
    int& id = to[static_cast<size_t>(tensor)];
    if (id >= 0) return id;
    id = static_cast<int>(out.tensors.size());
    out.tensors.push_back(g.tensors[static_cast<size_t>(tensor)]);
    out.tensors.back().name = "t" + std::to_string(id);
    out.tensors.back().constant = -1;
    return id;
  };
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    if (!inside[n]) continue;
    ir::Node& node = out.nodes.emplace_back(g.nodes[n]);
    node.name = "n" + std::to_string(out.nodes.size());
    for (ir::Read& r : node.reads) {
      const bool known = to[static_cast<size_t>(r.tensor)] >= 0;
      r.tensor = moved(r.tensor);
      if (!known) out.inputs.push_back(r.tensor);
    }
    node.output = moved(node.output);
    const std::vector<int> readers = ir::consumers_of(g, g.nodes[n].output);
    if (readers.empty() || is_output(g, g.nodes[n].output) ||
        std::any_of(readers.begin(), readers.end(),
                    [&](int r) { return !inside[static_cast<size_t>(r)]; }))
      out.outputs.push_back(node.output);
  }
  return out;
}

}  // namespace assay::compiler
