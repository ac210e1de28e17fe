#include "compiler/search/space.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "compiler/passes/rewrite.h"
#include "compiler/search/layouts.h"
#include "lower/instruction.h"
#include "lower/nest.h"

namespace assay::compiler {

namespace {

// Does a guard of the read tell lanes of a vector from each other?
bool guards_lanes(const Problem& p, const ir::Node& n, const ir::Read& r, size_t dim,
                  const lower::VectorIndex& v, int width) {
  if (!r.guarded) return false;
  const ir::Range range = ir::range_of(r.index[dim], ir::ranges_of(n));
  const ir::Layout& layout = p.layouts[static_cast<size_t>(r.tensor)];
  const ir::Pad pad = ir::pad_of_value(layout, static_cast<int>(dim), r.fill);
  const int64_t size = p.graph.tensors[static_cast<size_t>(r.tensor)].shape[dim];
  return (range.low < -pad.before || range.high > size - 1 + pad.after) &&
         !lower::shared_condition(v.at[dim], size, range, v.lane, width, v.ranges);
}

enum class LaneAccess { broadcast, contiguous, strided, impossible };

LaneAccess lane_access(const Problem& p, const ir::Node& n, const ir::Read& r, int axis,
                       int width) {
  const auto t = static_cast<size_t>(r.tensor);
  const lower::VectorIndex v = lower::vector_index(r.index, axis, width, ir::ranges_of(n));
  for (size_t d = 0; d < r.index.size(); ++d)
    if (ir::depends_on(r.index[d], axis) && guards_lanes(p, n, r, d, v, width))
      return LaneAccess::impossible;
  const std::optional<int64_t> stride =
      lower::lane_stride(p.layouts[t], p.graph.tensors[t].shape, v);
  if (!stride) return LaneAccess::impossible;
  if (*stride == 0) return LaneAccess::broadcast;
  return *stride == 1 ? LaneAccess::contiguous : LaneAccess::strided;
}

}  // namespace

Space::Space(const Problem& p, const model::Machine& m)
    : problem(p),
      machine(m),
      anchor(p.graph.nodes[0]),
      spatial(ir::spatial_count(p.graph, anchor)) {
  reduces = ir::is_expression(anchor) && anchor.combine != ir::Combiner::none;
  dense = reuses_operands(p.graph, anchor);
}

bool Space::stageable(int read) const {
  const ir::Read& r = anchor.reads[static_cast<size_t>(read)];
  if (r.guarded || r.lookup || !ir::is_used(anchor, read)) return false;
  const std::vector<bool>& kept = problem.on_chip.on_chip;
  if (static_cast<size_t>(r.tensor) < kept.size() && kept[static_cast<size_t>(r.tensor)])
    return false;  // it is there already
  std::set<int> seen;
  for (const ir::Index& i : r.index) {
    if (!affine(i)) return false;
    for (const ir::Term& t : i.terms)
      if (!seen.insert(t.var).second)
        return false;  // an axis in two dimensions: the region is no box
  }
  return true;
}

bool Space::is_batch_axis(int axis) const {
  return std::all_of(anchor.reads.begin(), anchor.reads.end(), [&](const ir::Read& r) {
    return std::any_of(r.index.begin(), r.index.end(),
                       [&](const ir::Index& i) { return ir::depends_on(i, axis); }) &&
           reuse_along(anchor, r, axis) == 1;
  });
}

int64_t Space::longest_tile(int axis) const {
  int64_t tile = extent(axis);
  for (const ir::Read& r : anchor.reads)
    if (const int64_t run = reuse_along(anchor, r, axis); dense && run > 1)
      tile = std::gcd(tile, run);
  return tile;
}

bool Space::keeps_groups(int axis, int64_t tile) const {
  const int64_t group = longest_tile(axis);
  return group == extent(axis) || tile % group == 0 || group % tile == 0;
}

namespace {

// Elements of 4 bytes in one transfer of 32 bytes: lanes with a larger stride need one each.
constexpr int64_t kElementsPerTransfer = 8;
double transfers(int64_t stride) {
  return static_cast<double>(std::clamp<int64_t>(std::abs(stride), 1, kElementsPerTransfer));
}

}  // namespace

bool Space::carries_lanes(int axis, int width, LaneCost& cost) const {
  const auto out = static_cast<size_t>(problem.graph.outputs[0]);
  if (ir::is_whole(anchor, axis)) return false;
  if (const auto* scatter = std::get_if<ir::Scatter>(&anchor.kind))
    for (const ir::Position& p : scatter->positions)
      if (ir::moves_with(anchor, p.read, axis)) return false;
  const auto stride =
      lower::lane_stride(problem.layouts[out], problem.graph.tensors[out].shape, axis, width);
  if (!stride) return false;
  if (*stride != 1) cost.gathers = true;
  cost.transfers += transfers(*stride);
  for (size_t n = 0; n < problem.graph.nodes.size(); ++n) {
    const ir::Node& node = problem.graph.nodes[n];
    for (int r = 0; r < static_cast<int>(node.reads.size()); ++r) {
      const ir::Read& read = node.reads[static_cast<size_t>(r)];
      if (ir::producer_of(problem.graph, read.tensor) >= 0) continue;
      if (read.lookup && ir::moves_with(node, read.lookup->read, axis)) return false;
      const bool moves = std::any_of(read.index.begin(), read.index.end(),
                                     [&](const ir::Index& i) { return ir::depends_on(i, axis); });
      if (!moves) continue;
      if (n == 0 && problem.packable[static_cast<size_t>(read.tensor)] && !read.lookup &&
          sole_dim(read, axis) >= 0 && reduces)
        continue;
      const auto t = static_cast<size_t>(read.tensor);
      cost.transfers +=
          transfers(lower::lane_stride(problem.layouts[t], problem.graph.tensors[t].shape,
                                       read.index, axis, width, ir::ranges_of(node))
                        .value_or(kElementsPerTransfer));
      const LaneAccess lanes = lane_access(problem, node, read, axis, width);
      if (lanes == LaneAccess::impossible) return false;
      if (lanes != LaneAccess::strided) continue;
      if (n == 0 && dense && stageable(r) && sole_dim(read, axis) >= 0)
        cost.must_stage.push_back(r);
      else
        cost.gathers = true, cost.gathers_terms |= n == 0 && reduces;
    }
  }
  return true;
}

std::vector<int> Space::storage_order() const {
  std::vector<int> out;
  const ir::Layout& layout = problem.layouts[static_cast<size_t>(problem.graph.outputs[0])];
  for (const ir::PhysicalDim& d : layout.dims)
    if (std::find(out.begin(), out.end(), d.dim) == out.end()) out.push_back(d.dim);
  return out;
}

Choice unit_choice(const Space& s) {
  Choice c;
  for (size_t a = 0; a < s.anchor.axes.size(); ++a) {
    const bool whole = ir::is_whole(s.anchor, static_cast<int>(a));
    c.register_tile.push_back(whole ? s.extent(static_cast<int>(a)) : 1);
    c.group_tile.push_back(s.extent(static_cast<int>(a)));
  }
  return c;
}

namespace {

// Per reduce axis whose operand is stored in blocks along it, the block. The nest walks block by
// block, so addresses stay affine.
std::map<int, int64_t> reduce_blocks(const Space& s) {
  std::map<int, int64_t> out;
  if (!ir::is_expression(s.anchor)) return out;  // its own loops walk block by block or not
  for (const ir::Read& r : s.anchor.reads) {
    for (const ir::PhysicalDim& d : s.problem.layouts[static_cast<size_t>(r.tensor)].dims) {
      if (d.mod == 0) continue;
      for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a)
        if (ir::depends_on(r.index[static_cast<size_t>(d.dim)], a) && s.extent(a) > d.mod)
          out[a] = d.mod;
    }
  }
  return out;
}

// Batch axes of a product outermost, since operands are reused within a batch only. Then the vector
// axis outside or inside the rows.
std::vector<int> spatial_order(const Space& s, const Choice& c) {
  std::vector<int> order = s.storage_order();
  if (c.vector_axis < 0 || (!s.dense && c.vector_axis_outer)) return order;
  const auto inside = s.dense ? std::stable_partition(order.begin(), order.end(),
                                                      [&](int a) { return s.is_batch_axis(a); })
                              : order.begin();
  const auto v = std::find(inside, order.end(), c.vector_axis);
  if (v == order.end()) return order;
  if (c.vector_axis_outer)
    std::rotate(inside, v, v + 1);
  else
    std::rotate(v, v + 1, order.end());
  return order;
}

std::string nearest_memory(const Space& s, size_t level, size_t levels) {
  // The innermost block is for the nearest cache, the next one for the next.
  const size_t from_inside = levels - 2 - level;
  return s.machine.levels[std::min(from_inside, s.machine.levels.size() - 1)].name;
}

}  // namespace

ir::Program build(const Space& s, const Choice& c) {
  ir::Program p;
  p.name = s.anchor.op;
  for (size_t n = 1; n < s.problem.graph.nodes.size(); ++n)
    p.name += "_" + s.problem.graph.nodes[n].op;
  p.graph = s.problem.graph;
  for (int n = 0; n + 1 < static_cast<int>(p.graph.nodes.size()); ++n)
    p.edges.push_back({n, n + 1, "registers"});
  p.layouts = s.problem.layouts;
  p.vector_axis = c.vector_axis;
  p.vector_width = c.vector_width;
  p.prefetch = c.prefetch;
  p.instruction = c.instruction;
  p.threads = c.threads;
  p.pipeline_stages = c.pipeline_stages;
  const std::vector<int64_t>& shared = c.block_tile.empty() ? c.group_tile : c.block_tile;
  for (size_t a = 0; c.wave_groups && a < shared.size(); ++a) {
    const bool spatial_axis = static_cast<int>(a) < s.spatial;
    p.workers.push_back(
        spatial_axis ? static_cast<int>((shared[a] + c.register_tile[a] - 1) / c.register_tile[a])
                     : 1);
  }
  const std::map<int, int64_t> blocks = reduce_blocks(s);
  const std::vector<int> spatial = spatial_order(s, c);

  ir::TileLevel group;
  group.extent = c.group_tile;
  group.order = s.storage_order();
  p.tiles.push_back(group);
  if (!c.block_tile.empty()) {
    ir::TileLevel block;
    block.extent = c.block_tile;
    std::vector<int> reduce;
    for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a) reduce.push_back(a);
    if (c.block_reduce_outer) block.order = reduce;
    for (int a : s.storage_order()) block.order.push_back(a);
    if (!c.block_reduce_outer) block.order.insert(block.order.end(), reduce.begin(), reduce.end());
    p.tiles.push_back(block);
  }
  const std::vector<int64_t> enclosing = p.tiles.back().extent;
  std::vector<int64_t> inner = c.register_tile;
  std::vector<int> order = spatial;
  if (!blocks.empty()) {
    ir::TileLevel strip;
    strip.extent = c.register_tile;
    for (size_t a = static_cast<size_t>(s.spatial); a < s.anchor.axes.size(); ++a)
      strip.extent[a] = enclosing[a];
    for (const auto& [axis, block] : blocks)
      strip.extent[static_cast<size_t>(axis)] =
          std::min(block, enclosing[static_cast<size_t>(axis)]);
    strip.order = spatial;
    for (const auto& [axis, block] : blocks) strip.order.push_back(axis);
    p.tiles.push_back(strip);
    order.clear();
  }
  ir::TileLevel registers;
  registers.extent = inner;
  registers.order = order;
  for (int a : inner_reduce_order(s, blocks)) registers.order.push_back(a);
  p.tiles.push_back(registers);
  for (size_t l = 0; l + 1 < p.tiles.size(); ++l)
    p.tiles[l].memory = nearest_memory(s, l, p.tiles.size());
  p.tiles.back().memory = "registers";

  for (int r = 0; r < static_cast<int>(s.anchor.reads.size()); ++r) {
    const ir::Read& read = s.anchor.reads[static_cast<size_t>(r)];
    const auto t = static_cast<size_t>(read.tensor);
    if (s.reduces && s.problem.packable[t] && !read.lookup && c.vector_axis >= 0)
      p.layouts[t] = packed_layout(s, c, read, p.layouts[t], blocks);
  }
  for (int r : c.staged)
    p.staging.push_back({r, c.block_tile.empty() ? 0 : 1,
                         staged_layout(s, c, s.anchor.reads[static_cast<size_t>(r)])});
  deal_runs(s, p);
  return p;
}

}  // namespace assay::compiler
