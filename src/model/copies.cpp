#include "model/copies.h"

#include <algorithm>

#include "lower/nest.h"
#include "model/residual.h"

namespace assay::model {

namespace {

// Is what lies side by side in the source side by side in the copy, for a whole vector?
bool in_order(const ir::Program& p, const ir::Staging& s, int native_width) {
  const auto t = static_cast<size_t>(p.graph.nodes[0].reads[static_cast<size_t>(s.read)].tensor);
  if (s.layout.dims.empty() || p.layouts[t].dims.empty()) return false;
  const ir::PhysicalDim &to = s.layout.dims.back(), &from = p.layouts[t].dims.back();
  const int64_t run = to.mod > 0 ? to.mod : lower::staged_shape(p, s)[static_cast<size_t>(to.dim)];
  return to.dim == from.dim && run >= native_width && (from.mod == 0 || from.mod >= native_width);
}

}  // namespace

Copies copies_of(const ir::Program& p, const lower::Counts& counts, int native_width) {
  Copies out;
  const size_t first = counts.buffers.size() - p.staging.size();
  for (size_t i = 0; i < p.staging.size(); ++i) {
    const ir::Staging& s = p.staging[i];
    const double n = counts.buffers[first + i].vector_stores + counts.buffers[first + i].scattered_lanes;
    const double whole = in_order(p, s, native_width) ? std::min(1.0, static_cast<double>(p.vector_width) / native_width) : 1;
    const double elements = static_cast<double>(ir::physical_elements(s.layout, lower::staged_shape(p, s)));
    const double at_once = std::max(1.0, elements / p.vector_width * whole);
    out.written += n;
    out.executed += n * whole;
    // Half a window of loads and stores goes on beside the arithmetic before them, and as many beside that behind them.
    out.alone += n * whole * std::max(0.0, 1 - kReorderWindow / at_once);
  }
  return out;
}

double copied_part(const Streams& s, const LevelTraffic& t) {
  double bytes = 0;
  for (size_t i = 0; i < s.streams.size(); ++i) {
    const Stream& one = s.streams[i];
    if (one.staging >= 0) bytes += t.streams[i].written;
    else if (!one.written && one.until < s.nest.loops.size()) bytes += t.streams[i].read;
  }
  return bytes > 0 ? bytes / (t.read + t.written) : 0;
}

}  // namespace assay::model
