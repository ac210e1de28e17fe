#include "model/slp.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "lower/nest.h"

namespace assay::model {

namespace {

int64_t contiguous_elements(const ir::Program& p) {
  const ir::Layout& l = p.layouts[static_cast<size_t>(p.graph.outputs[0])];
  const int64_t extent = p.graph.tensors[static_cast<size_t>(p.graph.outputs[0])]
                             .shape[static_cast<size_t>(l.dims.back().dim)];
  return l.dims.back().mod > 0 ? std::min(l.dims.back().mod, extent) : extent;
}

// Stride in elements of a read of the anchor, along an axis.
std::optional<int64_t> stride_along(const ir::Program& p, size_t read, int axis, int lanes) {
  const ir::Read& r = p.graph.nodes[0].reads[read];
  const auto staged = std::find_if(p.staging.begin(), p.staging.end(), [&](const ir::Staging& s) {
    return s.read == static_cast<int>(read);
  });
  const auto t = static_cast<size_t>(r.tensor);
  const std::vector<ir::Range> ranges = ir::ranges_of(p.graph.nodes[0]);
  if (staged == p.staging.end())
    return lower::lane_stride(p.layouts[t], p.graph.tensors[t].shape, r.index, axis, lanes, ranges);
  return lower::lane_stride(staged->layout, lower::staged_shape(p, *staged), r.index, axis, lanes,
                            ranges);
}

// Do `words` steps of the innermost loop read neighbouring words, the same ones for all threads,
// from a multiple of `words` on?
bool steps_by_words(const ir::Program& p, const ir::Staging& s, const lower::Loop& innermost,
                    int words) {
  const ir::Read& r = p.graph.nodes[0].reads[static_cast<size_t>(s.read)];
  if (p.vector_axis >= 0 && lower::reads_axis(p, s.read, p.vector_axis)) return false;
  const std::vector<int64_t> shape = lower::staged_shape(p, s);
  const std::vector<ir::Range> ranges = ir::ranges_of(p.graph.nodes[0]);
  for (int a = 0; a < static_cast<int>(p.graph.nodes[0].axes.size()); ++a) {
    if (!lower::reads_axis(p, s.read, a)) continue;
    const auto stride = lower::lane_stride(s.layout, shape, r.index, a, words, ranges);
    if (!stride || (a == innermost.axis ? *stride != 1 : *stride % words != 0)) return false;
  }
  return lower::reads_axis(p, s.read, innermost.axis);
}

}  // namespace

lower::Counts with_merged_loads(const ir::Program& p, int words, lower::Counts counts) {
  const lower::Nest nest = lower::nest_of(p);
  if (words <= 1 || lower::unrolled_steps(p) < words || nest.loops.empty()) return counts;
  const lower::Loop& innermost = nest.loops.back();
  const int64_t steps = lower::enclosing_extent(p, innermost.level, innermost.axis),
                all = p.graph.nodes[0].axes[static_cast<size_t>(innermost.axis)].extent;
  if (!innermost.reduce || !innermost.is_sequential() || innermost.tile != 1 ||
      steps % words != 0 || all % steps != 0)
    return counts;
  const size_t arguments = counts.buffers.size() - p.staging.size();
  for (size_t i = 0; i < p.staging.size(); ++i)
    if (steps_by_words(p, p.staging[i], innermost, words))
      counts.buffers[arguments + i].splats /= words;
  return counts;
}

std::optional<int> slp_axis(const ir::Program& p) {
  const ir::Layout& l = p.layouts[static_cast<size_t>(p.graph.outputs[0])];
  if (l.dims.empty() || l.dims.back().div != 1) return std::nullopt;
  return l.dims.back().dim;
}

int slp_lanes(const ir::Program& p, int lanes) {
  const std::optional<int> axis = slp_axis(p);
  if (lanes <= 1 || p.vector_width > 1 || !axis || !ir::is_expression(p.graph.nodes[0])) return 1;
  const int64_t in_tile =
      std::min(p.tiles.back().extent[static_cast<size_t>(*axis)], contiguous_elements(p));
  const auto whole = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(lanes)));
  const auto made = static_cast<int>(std::gcd(whole, in_tile));  // no remainder is left scalar
  for (size_t r = 0; r < p.graph.nodes[0].reads.size(); ++r) {
    if (p.graph.nodes[0].reads[r].lookup) return 1;
    const std::optional<int64_t> stride = stride_along(p, r, *axis, made);
    if (!stride || *stride > 1) return 1;
  }
  return made;
}

lower::Counts with_slp(const ir::Program& p, const lower::Counts& counts, int lanes) {
  lower::Counts out = counts;
  if (lanes <= 1) return out;
  const int axis = *slp_axis(p);
  for (double* n : {&out.fma, &out.simple, &out.divide, &out.math}) *n /= lanes;
  const std::vector<int> arguments = ir::arguments_of(p);
  const auto argument = [&](int tensor) {
    return static_cast<size_t>(std::find(arguments.begin(), arguments.end(), tensor) -
                               arguments.begin());
  };
  std::vector<bool> staged(p.graph.nodes[0].reads.size());
  for (size_t i = 0; i < p.staging.size(); ++i) {
    staged[static_cast<size_t>(p.staging[i].read)] = true;
    if (lower::reads_axis(p, p.staging[i].read, axis))
      out.buffers[arguments.size() + i].splats /= lanes;
  }
  for (const ir::Node& node : p.graph.nodes)
    for (size_t r = 0; r < node.reads.size(); ++r) {
      const bool anchor = &node == &p.graph.nodes[0],
                 inside = !anchor && node.reads[r].tensor == (&node - 1)->output;
      if (inside || (anchor && staged[r]) || !ir::moves_with(node, static_cast<int>(r), axis))
        continue;
      const size_t b = argument(node.reads[r].tensor);
      out.buffers[b].splats = counts.buffers[b].splats / lanes;
    }
  lower::AccessCount& output = out.buffers[argument(p.graph.outputs[0])];
  output.splats /= lanes;
  output.vector_stores /= lanes;
  return out;
}

}  // namespace assay::model
