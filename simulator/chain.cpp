#include "simulator/chain.h"

#include <algorithm>

#include "lower/nest.h"
#include "model/residual.h"

namespace assay::simulator {
namespace {

struct Tiles {
  double count = 1;   // register tiles of the whole output
  double steps = 1;   // of the reduction, for each of them
  double passes = 1;  // times that a tile's accumulators are taken up, since loops outside them
                      // walk the reduction
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
    if (!ir::is_reduce(p.graph, anchor, a)) continue;
    out.steps *= static_cast<double>(anchor.axes[static_cast<size_t>(a)].extent);
    at_once *= static_cast<double>(p.tiles.back().extent[static_cast<size_t>(a)]);
  }
  out.passes = std::max(1.0, out.steps / at_once);
  return out;
}

// Chains of the tiles that follow begin before this tile's have ended.
double tiles_in_flight(const lower::Counts& counts, const Tiles& tiles) {
  const double instructions = counts.fma + counts.simple + counts.divide + counts.math +
                              counts.loads() + counts.stores() + 2 * counts.iterations;
  return 1 + model::kReorderWindow / std::max(1.0, instructions / (tiles.count * tiles.passes));
}

// Accumulators that loops outside them store and load again: those of one tile wait for its last
// visit, and the tiles in between pass the time, as far as a core looks ahead, or those that follow
// once the tile has been visited `again` times. Where a visit begins with nothing and adds what
// memory holds at its end, only that addition waits for the visit before; its own sums are chains
// like those of a tile that is visited once.
double taken_up_again(const ir::Program& p, const lower::Nest& nest, const Tiles& tiles,
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
               apart = std::min(ahead, others ? std::max(between, ahead / again) : between);
  const double visit = lower::adds_late(p, nest)
                           ? std::max(update / apart, inside * latency / ahead)
                           : (update + (inside - 1) * latency) / apart;
  return tiles.count * tiles.passes * visit;
}

}  // namespace

double chain_seconds(const ir::Program& p, const model::Machine& m, const model::Streams& streams,
                     const lower::Counts& counts, double share) {
  const ir::Node& anchor = p.graph.nodes[0];
  if (anchor.combine == ir::Combiner::none) return 0;
  const Tiles tiles = tiles_of(p, streams.nest);
  const bool fused = anchor.combine == ir::Combiner::sum && anchor.body.op == ir::ScalarOp::mul;
  const double latency = (fused ? m.fma_latency : m.add_latency).value;
  const double ahead = m.simt ? m.resident_waves : tiles_in_flight(counts, tiles);
  if (!m.simt && lower::has_partial_sums(streams.nest))
    return taken_up_again(p, streams.nest, tiles, latency, m.update_latency.value, ahead) * share;
  return tiles.count * tiles.steps * latency * share / ahead;
}

}  // namespace assay::simulator
