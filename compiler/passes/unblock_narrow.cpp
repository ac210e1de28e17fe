#include "compiler/passes/unblock_narrow.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

constexpr int kChannels = 1;   // the dimension of an image
constexpr double kBusy = 0.8;  // of a vector's lanes: others are asked about

bool is_blocked(const LaidOut& laid, int tensor) {
  const ir::Layout& l = laid.layouts[static_cast<size_t>(tensor)];
  return std::any_of(l.dims.begin(), l.dims.end(),
                     [](const ir::PhysicalDim& d) { return d.mod > 0; });
}

// Do vectors along the channels of a convolution idle, or mix groups? `data`: a read
// whose elements several filters share.
bool is_narrow(const ir::Node& n, const ir::Read& data, int64_t block) {
  const int64_t filters = reuse_along(n, data, kChannels), all = n.axes[kChannels].extent;
  if (filters == 1 && all > 1) return false;  // depthwise
  if (filters < all) return filters % block != 0;
  const int64_t lanes = (all + block - 1) / block * block;
  return static_cast<double>(all) < kBusy * static_cast<double>(lanes);
}

// The read of the image that a narrow convolution slides over; -1: there is none.
int narrow_operand(const ir::Graph& g, const ir::Node& n, int64_t block) {
  if (!ir::is_expression(n) || !is_product(n) || n.reads.size() != 2 || ir::spatial_count(g, n) < 4)
    return -1;
  for (int r = 0; r < 2; ++r) {
    const ir::Read& data = n.reads[static_cast<size_t>(r)];
    const ir::Tensor& t = g.tensors[static_cast<size_t>(data.tensor)];
    if (t.constant < 0 && t.shape.size() >= 4 && is_narrow(n, data, block)) return r;
  }
  return -1;
}

// The blocked tensor and those that elementwise nodes link to it.
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

LaidOut unblocked(LaidOut laid, const std::set<int>& tensors) {
  for (const int t : tensors) {
    ir::Layout& l = laid.layouts[static_cast<size_t>(t)];
    std::vector<ir::Pad> pad = std::move(l.pad);
    l = ir::row_major(static_cast<int>(laid.graph.tensors[static_cast<size_t>(t)].shape.size()));
    l.pad = std::move(pad);
  }
  return laid;
}

// The nodes that read or write the tensors, as a graph of their own.
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

}  // namespace

LaidOut unblock_narrow_images(LaidOut laid, int64_t block, const Faster& faster) {
  if (block <= 1) return laid;
  for (size_t i = 0; i < laid.graph.nodes.size(); ++i) {
    const ir::Node& n = laid.graph.nodes[i];
    const int data = narrow_operand(laid.graph, n, block);
    if (data < 0) continue;
    const std::set<int> in = image_with(laid, n.reads[static_cast<size_t>(data)].tensor),
                        out = image_with(laid, n.output);
    std::set<int> both = in;
    both.insert(out.begin(), out.end());
    for (const std::set<int>& tensors : {both, in, out}) {
      if (tensors.empty()) continue;
      LaidOut then = unblocked(laid, tensors);
      if (!faster(around(laid, tensors), around(then, tensors))) continue;
      laid = std::move(then);
      break;
    }
  }
  return laid;
}

}  // namespace assay::compiler
