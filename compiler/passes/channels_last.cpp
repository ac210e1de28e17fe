#include "compiler/passes/channels_last.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/passes/image_layouts.h"
#include "lower/nest.h"

namespace assay::compiler {

namespace {

// The blocked image that a reduction reads at shifted channels, so that lanes along them lie in two
// blocks; -1: there is none.
int image_slid_over(const LaidOut& laid, const ir::Node& n, int64_t block) {
  if (!ir::is_expression(n) || n.combine == ir::Combiner::none) return -1;
  const std::vector<ir::Range> ranges = ir::ranges_of(n);
  for (const ir::Read& r : n.reads) {
    const auto t = static_cast<size_t>(r.tensor);
    if (!is_blocked(laid, r.tensor) || r.lookup) continue;
    for (int a = 0; a < ir::spatial_count(laid.graph, n); ++a) {
      if (ir::stride_of(r.index[kChannels], a) != 1) continue;
      const auto v = lower::vector_index(r.index, a, static_cast<int>(block), ranges);
      if (!lower::lane_stride(laid.layouts[t], laid.graph.tensors[t].shape, v)) return r.tensor;
    }
  }
  return -1;
}

LaidOut with_channels_last(LaidOut laid, const std::set<int>& tensors) {
  for (const int t : tensors) {
    ir::Layout& l = laid.layouts[static_cast<size_t>(t)];
    l = ir::row_major(static_cast<int>(laid.graph.tensors[static_cast<size_t>(t)].shape.size()));
    std::rotate(l.dims.begin() + kChannels, l.dims.begin() + kChannels + 1, l.dims.end());
    add_padding(laid.graph, t, l);
  }
  return laid;
}

}  // namespace

LaidOut move_channels_last(LaidOut laid, int64_t block, const Faster& faster) {
  if (block <= 1) return laid;
  for (size_t i = 0; i < laid.graph.nodes.size(); ++i) {
    const int image = image_slid_over(laid, laid.graph.nodes[i], block);
    if (image < 0) continue;
    const std::set<int> linked = image_with(laid, image);
    LaidOut best = laid;
    for (const std::set<int>& tensors : {std::set<int>{image}, linked}) {
      LaidOut then = with_channels_last(laid, tensors);
      if (faster(around(best, linked), around(then, linked))) best = std::move(then);
    }
    laid = std::move(best);
  }
  return laid;
}

}  // namespace assay::compiler
