#include "simulator/wave_stalls.h"

#include <algorithm>

#include "lower/early_loads.h"
#include "simulator/occupancy.h"

namespace assay::simulator {

namespace {

// At most so many iterations of an unrolled loop have their loads batched: in loops that compute
// these hold registers as long as the sums do, in loops that copy they do not. At most so many
// batches of loads (lower/early_loads) are merged. Fitted with model::kWaveIlp, to the same times.
constexpr double kComputed = 5, kCopied = 10, kMostBatches = 2;

struct Loads {
  double each = 0;      // of a wave
  double near = 0;      // s
  bool copied = false;  // of the loops that copy: their stalls are serialised
};

// A wave's gather is one instruction.
double loads_of(const lower::AccessCount& a, int width) {
  return a.vector_loads + a.splats + a.gathered_lanes / width;
}

}  // namespace

WaveStalls wave_stalls(const ir::Program& p, const model::Machine& m, const model::Streams& streams,
                       const std::vector<model::LevelTraffic>& traffic, const lower::Counts& counts,
                       double waves) {
  const std::vector<int> arguments = ir::arguments_of(p);
  const auto cache = static_cast<size_t>(&nearest_cache(m) - m.levels.data());
  std::vector<Loads> loads;
  for (const model::Stream& s : streams.streams) {
    const auto argument = static_cast<size_t>(
        std::find(arguments.begin(), arguments.end(), s.tensor) - arguments.begin());
    const size_t buffer =
        s.staging >= 0 ? arguments.size() + static_cast<size_t>(s.staging) : argument;
    const bool copied =
        s.staging < 0 && s.tensor != arguments.back() && s.end_depth < streams.nest.loops.size();
    const double near = m.levels[s.staging >= 0 ? static_cast<size_t>(0) : cache].latency.value;
    loads.push_back({s.read && buffer < counts.buffers.size()
                         ? loads_of(counts.buffers[buffer], p.vector_width) / waves
                         : 0,
                     near, copied});
  }
  double bodies = 1, batched = 0, near = 0, copying = 0;
  for (size_t a = 0; a < p.tiles.back().extent.size(); ++a)
    bodies *= static_cast<double>(
        ir::tile_count(p, static_cast<int>(p.tiles.size()) - 1, static_cast<int>(a)));
  if (!ir::is_expression(p.graph.nodes[0])) bodies = std::max(bodies, counts.iterations);
  for (const Loads& l : loads) {
    if (l.each <= 0) continue;
    if (l.copied)
      copying += l.each * l.near;
    else
      near = std::max(near, l.near), batched += l.each;
  }
  // An unrolled loop's loads are waited for together. Each iteration's multiply-adds wait for those
  // of the iteration before.
  const double iterations = std::max(1.0, bodies / waves), unrolled = m.unrolled,
               copied = std::min(unrolled, kCopied);
  const double times = std::max({1.0, iterations / std::min(unrolled, kComputed),
                                 batched / (lower::kLoadBatch * std::min(unrolled, kMostBatches))});
  WaveStalls out{copying / copied, times * near + iterations * m.fma_latency.value};
  for (size_t level = cache; level < traffic.size(); ++level) {
    const double further = m.levels[level + 1].latency.value - m.levels[level].latency.value;
    double overlapped = 0, serialised = 0;
    for (size_t i = 0; i < loads.size(); ++i) {
      if (loads[i].each <= 0) continue;
      const double lines = traffic[level].streams[i].read / m.levels[level + 1].line / waves;
      const double reaching = std::min(1.0, lines / loads[i].each);
      if (loads[i].copied)
        serialised += loads[i].each * reaching;
      else
        overlapped = std::max(overlapped, std::min(times, loads[i].each) * reaching);
    }
    out.computing += overlapped * std::max(0.0, further);
    out.copying += serialised * std::max(0.0, further) / copied;
  }
  return out;
}

}  // namespace assay::simulator
