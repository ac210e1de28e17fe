#include "simulator/chain.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

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

namespace {

// The longest chain of operations from component `from` of the state to the value of the tree, s;
// nullopt: it does not depend on it.
std::optional<double> chain_to(const ir::Scalar& s, int from, const model::Machine& m) {
  if (s.op == ir::ScalarOp::read) return s.operand == from ? std::optional(0.0) : std::nullopt;
  std::optional<double> longest;
  for (const ir::Scalar& arg : s.args)
    if (const auto inner = chain_to(arg, from, m)) longest = std::max(longest.value_or(0), *inner);
  const bool calls = s.op == ir::ScalarOp::exp || s.op == ir::ScalarOp::log ||
                     s.op == ir::ScalarOp::tanh || s.op == ir::ScalarOp::erf ||
                     s.op == ir::ScalarOp::pow;
  if (longest) *longest += m.add_latency.value * (calls ? lower::kExpInstructions : 1);
  return longest;
}

// Of one step after the other: the largest mean of the chains along a cycle of components, since
// one that no other waits for runs ahead. After n steps the longest chain has n times that (the
// eigenvalue in max-plus algebra; Karp, Discrete Mathematics 23, 1978).
double step_latency(const ir::TupleReduction& tuple, const model::Machine& m) {
  const size_t n = tuple.state.size();
  std::vector<double> ready(n, 0);
  double before = 0;
  for (size_t step = 0; step < 2 * n; ++step) {
    if (step == n) before = *std::max_element(ready.begin(), ready.end());
    std::vector<double> next(n, 0);
    for (size_t to = 0; to < n; ++to)
      for (size_t from = 0; from < n; ++from)
        if (const auto chain = chain_to(tuple.state[to].step, static_cast<int>(from), m))
          next[to] = std::max(next[to], ready[from] + *chain);
    ready = std::move(next);
  }
  return (*std::max_element(ready.begin(), ready.end()) - before) / static_cast<double>(n);
}

// The chain of a register tile, whose rows are independent. Lanes that share a row have a part
// each.
double tuple_chain(const ir::Program& p, const ir::TupleReduction& tuple, const Tiles& tiles,
                   const model::Machine& m) {
  const ir::Node& anchor = p.graph.nodes[0];
  double steps = 1;
  for (size_t a = anchor.axes.size() - static_cast<size_t>(tuple.over); a < anchor.axes.size(); ++a)
    steps *= static_cast<double>(anchor.axes[a].extent);
  if (lower::shared_state(p) > 0) steps = std::ceil(steps / p.vector_width);
  return tiles.count * steps * step_latency(tuple, m);
}

}  // namespace

double chain_seconds(const ir::Program& p, const model::Machine& m, const model::Streams& streams,
                     const lower::Counts& counts, double share) {
  const ir::Node& anchor = p.graph.nodes[0];
  if (const auto* tuple = std::get_if<ir::TupleReduction>(&anchor.kind)) {
    const Tiles tiles = tiles_of(p, streams.nest);
    return tuple_chain(p, *tuple, tiles, m) * share / tiles_in_flight(counts, tiles, m.window);
  }
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
