#include "ir/label.h"

#include <fmt/format.h>

#include <vector>

namespace assay::ir {
namespace {

// Reduce axes before the window: importers write the channels of a convolution first.
int axes_before_window(const Node& n) { return n.op == "conv" ? 1 : 0; }

bool has_window(const Node& n) {
  return n.op == "conv" || n.op == "depthwise" || n.op.ends_with("_pool");
}

std::string joined(const std::vector<int64_t>& extents) {
  return extents.empty() ? "" : fmt::format(" {}", fmt::join(extents, "x"));
}

}  // namespace

std::string label_of(const Graph& g, const Node& n) {
  const bool product = n.op == "matmul";
  const int spatial = spatial_count(g, n);
  std::vector<int64_t> shape, window;
  int64_t reduced = 1;
  for (int a = 0; a < static_cast<int>(n.axes.size()); ++a) {
    const int64_t extent = n.axes[static_cast<size_t>(a)].extent;
    if (a < spatial)
      shape.push_back(extent);
    else
      reduced *= extent;
    if (a >= spatial + axes_before_window(n)) window.push_back(extent);
  }
  if (shape.size() > (product ? 2U : 1U) && shape[0] == 1) shape.erase(shape.begin());
  if (product) shape.push_back(reduced);
  return n.op + joined(shape) + (has_window(n) ? joined(window) : "");
}

std::string label_of(const Graph& chain, std::string_view name) {
  std::string out = label_of(chain, chain.nodes.front());
  if (!name.empty() && name != chain.nodes.front().op) out += fmt::format(" ({})", name);
  for (size_t n = 1; n < chain.nodes.size(); ++n) out += " + " + chain.nodes[n].op;
  return out;
}

}  // namespace assay::ir
