#include "compiler/passes/image_layouts.h"

#include <algorithm>

#include "compiler/passes/rewrite.h"

namespace assay::compiler {

bool is_blocked(const LaidOut& laid, int tensor) {
  const ir::Layout& l = laid.layouts[static_cast<size_t>(tensor)];
  return std::any_of(l.dims.begin(), l.dims.end(),
                     [](const ir::PhysicalDim& d) { return d.mod > 0; });
}

std::set<int> image_with(const LaidOut& laid, int tensor) {
  std::set<int> out;
  if (!is_blocked(laid, tensor)) return out;
  out.insert(tensor);
  for (bool grows = true; grows;) {
    grows = false;
    for (const ir::Node& n : laid.graph.nodes) {
      if (!ir::is_elementwise(n) || !is_blocked(laid, n.output)) continue;
      for (const ir::Read& r : n.reads)
        if (is_blocked(laid, r.tensor) && is_identity(laid.graph, r) &&
            out.contains(r.tensor) != out.contains(n.output))
          grows = out.insert(r.tensor).second || out.insert(n.output).second;
    }
  }
  return out;
}

LaidOut around(const LaidOut& laid, const std::set<int>& tensors) {
  LaidOut out;
  out.layouts = laid.layouts;
  out.graph.name = laid.graph.name;
  out.graph.tensors = laid.graph.tensors;
  std::set<int> outside(laid.graph.outputs.begin(), laid.graph.outputs.end());
  for (const ir::Node& n : laid.graph.nodes) {
    const bool touches = tensors.contains(n.output) ||
                         std::any_of(n.reads.begin(), n.reads.end(),
                                     [&](const ir::Read& r) { return tensors.contains(r.tensor); });
    if (touches)
      out.graph.nodes.push_back(n);
    else
      for (const ir::Read& r : n.reads) outside.insert(r.tensor);
  }
  for (const ir::Node& n : out.graph.nodes)
    if (outside.contains(n.output) || ir::consumers_of(out.graph, n.output).empty())
      out.graph.outputs.push_back(n.output);
  return out;
}

}  // namespace assay::compiler
