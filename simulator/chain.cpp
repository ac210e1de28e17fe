#include "simulator/chain.h"

#include <algorithm>

#include "lower/nest.h"

namespace assay::simulator {
namespace {

struct Tiles {
  double count = 1;   // register tiles of the whole output
  double steps = 1;   // of the reduction, for each of them
  double passes = 1;  // visits of a tile's accumulators: loops outside them walk the reduction
};

Tiles tiles_of(const ir::Program& p, const lower::Nest& nest) {
  const ir::Node& anchor = p.graph.nodes[0];
  const int innermost = static_cast<int>(p.tiles.size()) - 1;
  Tiles out;
  for (int a = 0; a < ir::spatial_count(p.graph, anchor); ++a)
    out.count *= static_cast<double>(ir::tile_count(p, innermost, a));
  double at_once = 1;
  for (size_t i = nest.first_inner; i < nest.loops.size(); ++i)
    if (nest.loops[i].reduce) at_once *= static_cast<double>(nest.loops[i].trips);
  for (int a = 0; a < static_cast<int>(anchor.axes.size()); ++a) {
    if (!ir::is_reduce(p.graph, anchor, a) && !ir::is_whole(anchor, a)) continue;
    out.steps *= static_cast<double>(anchor.axes[static_cast<size_t>(a)].extent);
    at_once *= static_cast<double>(p.tiles.back().extent[static_cast<size_t>(a)]);
  }
  out.passes = std::max(1.0, out.steps / at_once);
  return out;
}

// Chains of the tiles that follow begin before this tile's have ended.
double tiles_in_flight(const lower::Counts& counts, const Tiles& tiles, double window) {
  const double instructions = counts.fma + counts.simple + counts.divide + counts.math +
                              counts.matrix + counts.loads() + counts.stores() +
                              2 * counts.iterations;
  return 1 + window / std::max(1.0, instructions / (tiles.count * tiles.passes));
}

// Accumulators that loops outside them store and load again. Each visit of a tile waits for the one
// before. The tiles between overlap with it within the reorder window, as do those that follow once
// the tile has been visited `again` times. Where a visit starts at zero and adds memory's sum at
// its end, only that addition waits. Its own sums are chains like those of a tile that is visited
// once.
double partial_sum_chains(const ir::Program& p, const lower::Nest& nest, const Tiles& tiles,
                          double latency, double update, double ahead) {
  double between = 1, again = 1;
  size_t i = nest.first_inner;
  for (; i > 0 && !nest.loops[i - 1].reduce; --i)
    between *= static_cast<double>(nest.loops[i - 1].trips);
  for (; i > 0 && nest.loops[i - 1].reduce; --i)
    again *= static_cast<double>(nest.loops[i - 1].trips);
  const bool others =
      std::any_of(nest.loops.begin(), nest.loops.begin() + static_cast<std::ptrdiff_t>(i),
                  [](const lower::Loop& l) { return !l.reduce && l.trips > 1; });
  const double inside = tiles.steps / tiles.passes,
               overlapped = std::min(ahead, others ? std::max(between, ahead / again) : between);
  const double visit = lower::adds_late(p, nest)
                           ? std::max(update / overlapped, inside * latency / ahead)
                           : (update + (inside - 1) * latency) / overlapped;
  return tiles.count * tiles.passes * visit;
}

}  // namespace

double chain_seconds(const ir::Program& p, const model::Machine& m, const model::Streams& streams,
                     const lower::Counts& counts, double share) {
  const ir::Node& anchor = p.graph.nodes[0];
  const bool scans = std::holds_alternative<ir::Scan>(anchor.kind);
  if (anchor.combine == ir::Combiner::none || !(scans || ir::is_expression(anchor))) return 0;
  Tiles tiles = tiles_of(p, streams.nest);
  const bool fused = anchor.combine == ir::Combiner::sum && anchor.body.op == ir::ScalarOp::mul;
  double latency = (fused ? m.fma_latency : m.add_latency).value;
  if (const model::MatrixRate* i = model::matrix_rate(m, p.instruction)) {
    latency = i->latency.value > 0 ? i->latency.value : latency;
    tiles.steps = std::max(1.0, tiles.steps / i->instruction.k);
  }
  const double ahead = tiles_in_flight(counts, tiles, m.window);
  if (lower::has_partial_sums(streams.nest))
    return partial_sum_chains(p, streams.nest, tiles, latency, m.update_latency.value, ahead) *
           share;
  return tiles.count * tiles.steps * latency * share / ahead;
}

}  // namespace assay::simulator
