#include "simulator/operand_walk.h"

#include <algorithm>
#include <cmath>

namespace assay::simulator {

namespace {

// The dimension of a tensor that moves with the loop whose trips the units share out; -1: none.
int split_of(const ir::Program& p, int tensor, const lower::Nest& nest) {
  if (nest.loops.empty() || !nest.loops[0].group) return -1;
  const int axis = nest.loops[0].axis;
  for (const ir::Node& n : p.graph.nodes) {
    if (n.output == tensor) return axis;  // a node's first axes are its output's dimensions
    for (const ir::Read& r : n.reads)
      for (size_t d = 0; r.tensor == tensor && d < r.index.size(); ++d)
        if (ir::depends_on(r.index[d], axis)) return static_cast<int>(d);
  }
  return -1;
}

// A unit's part of each tensor, as `size` measures its footprint.
template <typename Size>
std::vector<double> part_sizes(const ir::Program& p, const model::Machine& m, const Size& size) {
  std::vector<double> out(p.graph.tensors.size(), 0);
  const model::Streams streams = model::streams_of(p);
  for (const model::Stream& s : streams.streams)
    if (s.staging < 0)
      out[static_cast<size_t>(s.tensor)] =
          size(model::unit_footprint(p, streams, s, units_of(p, m), m.levels[0].line));
  return out;
}

struct LoopTrips {
  double trips = 1;
  bool moves = false;  // to other bytes of the operand
};

// When a walk reaches each of the places first, or last. Loops that do not move the operand reach
// them again in each iteration.
WalkTimes reached(std::span<const LoopTrips> loops, bool last) {
  WalkTimes out{};
  for (size_t i = 0; i < out.size(); ++i) {
    double rest = (static_cast<double>(i) + 0.5) / static_cast<double>(out.size()), width = 1;
    for (const LoopTrips& l : loops) {
      const double at = l.moves ? std::floor(rest * l.trips) : last ? l.trips - 1 : 0;
      if (l.moves) rest = rest * l.trips - at;
      width /= l.trips;
      out[i] += width * at;
    }
    out[i] += width * rest;
  }
  return out;
}

}  // namespace

double units_of(const ir::Program& p, const model::Machine& m) {
  return std::max(1.0, std::min(m.units, static_cast<double>(ir::group_count(p))));
}

std::vector<double> bytes_of_unit(const ir::Program& p, const model::Machine& m) {
  return part_sizes(p, m, [&](const model::Footprint& f) { return f.bytes(m.levels[0].line); });
}

std::vector<double> room_taken(const ir::Program& p, const model::Machine& m) {
  double sets = 1;
  for (const model::Level& l : m.levels)
    if (!l.shared && !l.is_scratchpad) sets = std::max(sets, l.sets);
  return part_sizes(p, m,
                    [&](const model::Footprint& f) { return f.occupied(m.levels[0].line, sets); });
}

UnitPartition partition_of(const ir::Program& p, int tensor, const lower::Nest& nest,
                           const Range& where, double units, int first) {
  const int dim = split_of(p, tensor, nest), users = static_cast<int>(units);
  if (users == 1) return {where.begin, where.end - where.begin, 1, first};
  if (dim < 0) return {where.begin, 0, users, first};
  const ir::Layout& layout = p.layouts[static_cast<size_t>(tensor)];
  const ir::Tensor& t = p.graph.tensors[static_cast<size_t>(tensor)];
  const std::vector<int64_t> extents = ir::physical_shape(layout, t.shape);
  int64_t period = ir::bytes_of(t.dtype);
  for (size_t d = layout.dims.size(); d-- > 0;) {
    period *= extents[d];
    const auto outer = layout.dims.begin() + static_cast<std::ptrdiff_t>(d);
    if (std::none_of(layout.dims.begin(), outer,
                     [&](const ir::PhysicalDim& x) { return x.dim == dim; }) &&
        outer->dim == dim)
      break;
  }
  return {where.begin, period, users, first};
}

std::vector<Walk> walks_of(const ir::Program& p, const model::Streams& streams,
                           const model::Machine& m) {
  const double line = m.levels[0].line, units = units_of(p, m);
  struct Operand {
    size_t tensor = 0;
    double part = 0;
    std::vector<double> within;  // a depth of the nest, at most the part
  };
  std::vector<double> trips;  // of a unit
  double others = units;      // that share the groups
  for (const lower::Loop& l : streams.nest.loops) {
    const double all = static_cast<double>(l.trips);
    trips.push_back(l.group ? std::max(1.0, all / others) : all);
    if (l.group) others = std::max(1.0, others / all);
  }
  std::vector<Operand> all;
  for (const model::Stream& s : streams.streams) {
    if (s.staging >= 0) continue;
    Operand w{static_cast<size_t>(s.tensor),
              model::unit_footprint(p, streams, s, units, line).bytes(line),
              {}};
    for (const model::Footprint& f : model::footprints(p, streams, s, line))
      w.within.push_back(std::min(w.part, f.bytes(line)));
    all.push_back(std::move(w));
  }
  std::vector<Walk> out(p.graph.tensors.size());
  for (const Operand& w : all) {
    size_t depth = 0;
    while (depth + 1 < w.within.size() && w.within[depth + 1] >= w.part) ++depth;
    double beside = 0, whole = 0;
    for (const Operand& o : all) {
      if (o.tensor == w.tensor) continue;
      beside += depth == 0 ? o.part : o.within[std::min(depth, o.within.size() - 1)];
      whole += o.part;
    }
    if (beside < out[w.tensor].others_between) continue;
    std::vector<LoopTrips> loops;
    for (size_t d = depth; d + 1 < w.within.size(); ++d)
      loops.push_back({trips[d], w.within[d + 1] < w.within[d]});
    out[w.tensor] = {beside, whole > 0 ? beside / whole : 1, reached(loops, false),
                     reached(loops, true)};
  }
  return out;
}

Operands::Operands(const ir::Program& p, const model::Machine& m)
    : streams(model::streams_of(p)),
      units(units_of(p, m)),
      walks(walks_of(p, streams, m)),
      needed(bytes_of_unit(p, m)),
      room(room_taken(p, m)) {}

}  // namespace assay::simulator
