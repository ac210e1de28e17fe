#include "model/copies.h"

#include <algorithm>

#include "lower/nest.h"

namespace assay::model {

Copies copies_of(const ir::Program& p, const lower::Counts& counts, double window) {
  Copies out;
  const size_t first = counts.buffers.size() - p.staging.size();
  const std::vector<int> arguments = ir::arguments_of(p);
  for (size_t i = 0; i < p.staging.size(); ++i) {
    const ir::Staging& s = p.staging[i];
    const lower::AccessCount& into = counts.buffers[first + i];
    const auto source = std::find(arguments.begin(), arguments.end(),
                                  p.graph.nodes[0].reads[static_cast<size_t>(s.read)].tensor);
    const double gathered =
        counts.buffers[static_cast<size_t>(source - arguments.begin())].gathered_lanes;
    out.parts.stores += into.vector_stores;
    out.parts.scattered += into.scattered_lanes;
    out.parts.gathered += gathered;
    if (gathered <= 0)
      out.parts.loads += into.vector_stores + into.scattered_lanes / p.vector_width;
    const double elements =
        static_cast<double>(ir::physical_elements(s.layout, lower::staged_shape(p, s)));
    const double n = into.vector_stores + into.scattered_lanes,
                 at_once = std::max(1.0, elements / p.vector_width);
    out.total += n;
    if (lower::copy_vector_dim(p, s) < 0) out.single_elements += n;
    // Half a reorder window of loads and stores overlaps with the arithmetic before them, and half
    // with that after them.
    out.exposed += n * std::max(0.0, 1 - window / at_once);
  }
  return out;
}

double copy_fraction(const Streams& s, const LevelTraffic& t) {
  double bytes = 0;
  for (size_t i = 0; i < s.streams.size(); ++i) {
    const Stream& one = s.streams[i];
    if (one.staging >= 0)
      bytes += t.streams[i].written;
    else if (!one.written && one.end_depth < s.nest.loops.size())
      bytes += t.streams[i].read;
  }
  return bytes > 0 ? bytes / (t.read + t.written) : 0;
}

}  // namespace assay::model
