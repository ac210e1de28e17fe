#include "compiler/passes/unblock_narrow.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/passes/image_layouts.h"
#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

constexpr double kBusy = 0.8;  // of a vector's lanes: others are asked about

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

LaidOut unblocked(LaidOut laid, const std::set<int>& tensors) {
  for (const int t : tensors) {
    ir::Layout& l = laid.layouts[static_cast<size_t>(t)];
    l.dims =
        ir::row_major(static_cast<int>(laid.graph.tensors[static_cast<size_t>(t)].shape.size()))
            .dims;
  }
  return laid;
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
