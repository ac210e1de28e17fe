#include "lower/nest.h"

#include <algorithm>
#include <bit>

#include "ir/computed_type.h"

namespace assay::lower {

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t extent(const ir::Program& p, int axis) {
  return p.graph.nodes[0].axes[static_cast<size_t>(axis)].extent;
}

int64_t tile(const ir::Program& p, int level, int axis) {
  return p.tiles[static_cast<size_t>(level)].extent[static_cast<size_t>(axis)];
}

}  // namespace

int64_t enclosing_extent(const ir::Program& p, int level, int axis) {
  return level == 0 ? extent(p, axis) : tile(p, level - 1, axis);
}

bool reads_axis(const ir::Program& p, int read, int axis) {
  return ir::moves_with(p.graph.nodes[0], read, axis);
}

bool is_condition(const ir::Program& p, const Nest& nest, size_t loop) {
  const Loop& l = nest.loops[loop];
  const int64_t whole = extent(p, l.axis), around = enclosing_extent(p, l.level, l.axis);
  const bool last =
      std::none_of(nest.loops.begin() + static_cast<ptrdiff_t>(loop) + 1, nest.loops.end(),
                   [&](const Loop& other) { return other.axis == l.axis; });
  return last && l.is_sequential() && around < whole && whole % around != 0 &&
         std::min(whole, around) / l.tile == 1;
}

bool computes_whole_tiles(const ir::Program& p) { return !p.workers.empty() && !p.staging.empty(); }

namespace {

bool is_distributed(const ir::Program& p, int axis) {
  return !p.workers.empty() && p.workers[static_cast<size_t>(axis)] > 1;
}

// The level of the tiles that one register tile of each wave makes up.
int innermost_level(const ir::Program& p, int axis) {
  for (int level = static_cast<int>(p.tiles.size()) - 1; level > 0; --level) {
    const std::vector<int>& order = p.tiles[static_cast<size_t>(level)].order;
    if (std::find(order.begin(), order.end(), axis) != order.end() &&
        enclosing_extent(p, level, axis) > tile(p, level, axis))
      return level;
  }
  return 0;
}

// The extent of a tile as its waves compute it: whole register tiles, even past the end of the
// axis.
int64_t computed_tile(const ir::Program& p, int level, int axis) {
  const int64_t t = tile(p, level, axis), inner = p.tiles.back().extent[static_cast<size_t>(axis)];
  if (!computes_whole_tiles(p) || !is_distributed(p, axis) || t <= inner) return t;
  return std::max(t, inner * p.workers[static_cast<size_t>(axis)]);
}

void find_first_inner(Nest& nest) {
  nest.first_inner = nest.loops.size();
  while (nest.first_inner > 0 && nest.loops[nest.first_inner - 1].reduce) --nest.first_inner;
}

}  // namespace

int64_t computed_extent(const ir::Program& p, int axis) {
  if (!computes_whole_tiles(p) || !is_distributed(p, axis)) return extent(p, axis);
  return ir::tile_count(p, 0, axis) * computed_tile(p, 0, axis);
}

std::vector<ir::Range> tile_ranges(const ir::Program& p, int level) {
  std::vector<ir::Range> out;
  for (int a = 0; a < static_cast<int>(p.graph.nodes[0].axes.size()); ++a)
    out.push_back({0, computed_tile(p, level, a) - 1});
  return out;
}

Nest walk_of(const ir::Program& p) {
  Nest nest;
  const ir::Node& anchor = p.graph.nodes[0];
  for (int level = 0; level < static_cast<int>(p.tiles.size()); ++level) {
    for (int axis : p.tiles[static_cast<size_t>(level)].order) {
      Loop loop;
      loop.level = level;
      loop.axis = axis;
      loop.tile = tile(p, level, axis);
      loop.trips = ceil_div(enclosing_extent(p, level, axis), loop.tile);
      loop.reduce = ir::is_reduce(p.graph, anchor, axis);
      loop.group = level == 0 && !loop.reduce;
      loop.wave = level > 0 && is_distributed(p, axis) && level == innermost_level(p, axis);
      if (loop.trips > 1) nest.loops.push_back(loop);
    }
  }
  // Group loops come first in any order: they are not loops of the kernel.
  std::stable_partition(nest.loops.begin(), nest.loops.end(),
                        [](const Loop& l) { return l.group; });
  find_first_inner(nest);
  return nest;
}

Nest nest_of(const ir::Program& p) {
  Nest nest = walk_of(p);
  if (p.workers.empty()) return nest;
  std::stable_partition(nest.loops.begin(), nest.loops.end(),
                        [](const Loop& l) { return l.group || l.wave; });
  std::stable_partition(nest.loops.begin(), nest.loops.end(),
                        [](const Loop& l) { return l.group; });
  find_first_inner(nest);
  return nest;
}

int staging_place(const ir::Program& p, const Nest& nest, const ir::Staging& s) {
  int place = -1;
  for (size_t i = 0; i < nest.loops.size(); ++i) {
    const Loop& loop = nest.loops[i];
    if (loop.group) place = std::max(place, static_cast<int>(i));
    if (loop.level <= s.level && reads_axis(p, s.read, loop.axis)) place = static_cast<int>(i);
  }
  return place;
}

ir::DType staged_type(const ir::Program& p, const ir::Staging& s) {
  const int tensor = p.graph.nodes[0].reads[static_cast<size_t>(s.read)].tensor;
  const ir::DType type = p.graph.tensors[static_cast<size_t>(tensor)].dtype;
  const bool as_it_is = !p.instruction.empty() || p.threads || p.pipeline_stages > 1 || s.tasks;
  return as_it_is ? type : ir::computed_in(p.graph, p.graph.nodes[0]);
}

std::vector<int64_t> staged_shape(const ir::Program& p, const ir::Staging& s) {
  const std::vector<ir::Range> ranges = tile_ranges(p, s.level);
  std::vector<int64_t> shape;
  for (const ir::Index& i : p.graph.nodes[0].reads[static_cast<size_t>(s.read)].index) {
    const ir::Range r = ir::range_of(i, ranges);
    shape.push_back(r.high - r.low + 1);
  }
  return shape;
}

std::optional<int64_t> lane_stride(const ir::Layout& layout, std::span<const int64_t> shape,
                                   int dim, int width) {
  const std::vector<int64_t> extents = ir::physical_shape(layout, shape);
  int64_t stride = 1;
  for (size_t p = layout.dims.size(); p-- > 0;) {
    const ir::PhysicalDim& d = layout.dims[p];
    if (d.dim == dim) {
      if (d.div != 1) return std::nullopt;
      if (d.mod > 0 && (d.mod % width != 0 || ir::pad_of(layout, dim).before % width != 0))
        return std::nullopt;
      return stride;
    }
    stride *= extents[p];
  }
  return std::nullopt;
}

VectorIndex vector_index(std::span<const ir::Index> index, int axis, int width, ir::Ranges ranges) {
  VectorIndex out{{}, {ranges.begin(), ranges.end()}, 0, 0};
  out.vector = static_cast<int>(ranges.size());
  out.lane = out.vector + 1;
  out.ranges.push_back({0, ranges[static_cast<size_t>(axis)].high / width});
  out.ranges.push_back({0, width - 1});
  const ir::Index place = ir::variable(out.vector, width) + ir::variable(out.lane);
  for (const ir::Index& i : index)
    out.at.push_back(ir::simplify(
        ir::substitute(i, [&](int a) { return a == axis ? place : ir::variable(a); }), out.ranges));
  return out;
}

std::optional<int64_t> lane_stride(const ir::Layout& layout, std::span<const int64_t> shape,
                                   const VectorIndex& v) {
  return ir::stride_of(ir::physical_offset(layout, shape, v.at, v.ranges), v.lane);
}

std::optional<ir::Condition> shared_condition(const ir::Index& at, int64_t size,
                                              const ir::Range& whole, int lane, int width,
                                              ir::Ranges ranges) {
  if (!ir::depends_on(at, lane)) return ir::Condition{at, 0, size - 1};
  const ir::Index vector = ir::divide(at, width, ranges);
  if (ir::depends_on(vector, lane) || (size % width != 0 && whole.high >= size))
    return std::nullopt;
  return ir::Condition{vector, 0, (size - 1) / width};
}

std::optional<int64_t> lane_stride(const ir::Layout& layout, std::span<const int64_t> shape,
                                   std::span<const ir::Index> index, int axis, int width,
                                   ir::Ranges ranges) {
  int64_t stride = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!ir::depends_on(index[d], axis)) continue;
    const std::optional<int64_t> c = ir::stride_of(index[d], axis),
                                 s = lane_stride(layout, shape, static_cast<int>(d), width);
    if (!c) {  // a division or a modulo
      return lane_stride(layout, shape, vector_index(index, axis, width, ranges));
    }
    if (!s) return std::nullopt;
    stride += *c * *s;
  }
  return stride;
}

int copy_vector_dim(const ir::Program& p, const ir::Staging& s) {
  const int w = p.vector_width;
  const ir::Read& r = p.graph.nodes[0].reads[static_cast<size_t>(s.read)];
  const ir::Layout& source = p.layouts[static_cast<size_t>(r.tensor)];
  if (w == 1 || source.dims.empty() || source.dims.back().div != 1) return -1;
  const ir::PhysicalDim& inner = source.dims.back();
  const auto d = static_cast<size_t>(inner.dim);
  bool aligned = true, moves = false;
  for (int a = 0; a < static_cast<int>(p.graph.nodes[0].axes.size()); ++a) {
    if (!ir::depends_on(r.index[d], a) || ir::tile_count(p, s.level, a) == 1) continue;
    moves = true;
    const std::optional<int64_t> c = ir::stride_of(r.index[d], a);
    if (!c || (*c * tile(p, s.level, a)) % w != 0) aligned = false;
  }
  const ir::Range range = ir::range_of(r.index[d], tile_ranges(p, s.level));
  const int64_t region = range.high - range.low + 1;
  if (moves && (!aligned || range.low % w != 0 || region % w != 0)) return -1;
  if (!moves && inner.mod > 0 && range.low % w != 0) return -1;
  const std::vector<int64_t>& shape = p.graph.tensors[static_cast<size_t>(r.tensor)].shape;
  if (!lane_stride(source, shape, inner.dim, w)) return -1;
  if (!lane_stride(s.layout, staged_shape(p, s), inner.dim, w)) return -1;
  return inner.dim;
}

int64_t copy_block(const ir::Program& p, const ir::Staging& s, int dim) {
  const auto least = [&](const ir::Layout& layout) {
    int64_t out = 0;
    for (const ir::PhysicalDim& d : layout.dims)
      if (d.dim == dim && d.div == 1 && d.mod > 0) out = out == 0 ? d.mod : std::min(out, d.mod);
    return out;
  };
  const ir::Read& r = p.graph.nodes[0].reads[static_cast<size_t>(s.read)];
  const ir::Index& along = r.index[static_cast<size_t>(dim)];
  int64_t block = least(s.layout);
  if (block == 0) {
    block = least(p.layouts[static_cast<size_t>(r.tensor)]);
    if (block == 0 || ir::range_of(along, tile_ranges(p, s.level)).low % block != 0) return 0;
    for (int a = 0; a < static_cast<int>(p.graph.nodes[0].axes.size()); ++a) {
      if (!ir::depends_on(along, a) || ir::tile_count(p, s.level, a) == 1) continue;
      const std::optional<int64_t> c = ir::stride_of(along, a);
      if (!c || *c * tile(p, s.level, a) % block != 0) return 0;
    }
  }
  const int64_t step = dim == copy_vector_dim(p, s) ? p.vector_width : 1;
  const int64_t steps = staged_shape(p, s)[static_cast<size_t>(dim)] / step;
  return block % step == 0 && block / step > 1 && block / step < steps ? block / step : 0;
}

int unrolled_steps(const ir::Program& p) {
  constexpr int kSteps = 4;
  const bool several =
      std::any_of(p.workers.begin(), p.workers.end(), [](int64_t n) { return n > 1; });
  return several && !p.staging.empty() ? kSteps : 0;
}

bool has_partial_sums(const Nest& nest) {
  return std::any_of(nest.loops.begin(),
                     nest.loops.begin() + static_cast<ptrdiff_t>(nest.first_inner),
                     [](const Loop& l) { return l.reduce; });
}

double visits(const ir::Program& p, const Nest& nest) {
  double times = 1;
  for (size_t a = 0; a < p.tiles.back().extent.size(); ++a) {
    int level = -1;
    for (size_t i = 0; i < nest.first_inner; ++i)
      if (nest.loops[i].reduce && nest.loops[i].axis == static_cast<int>(a))
        level = nest.loops[i].level;
    if (level >= 0) times *= static_cast<double>(ir::tile_count(p, level, static_cast<int>(a)));
  }
  return times;
}

SortPlan sort_plan(const ir::Program& p) {
  const ir::Node& anchor = p.graph.nodes[0];
  const auto* sort = std::get_if<ir::Sort>(&anchor.kind);
  if (sort == nullptr) return {};
  const bool shared = p.vector_axis == sort->axis;
  const auto wanted = static_cast<uint64_t>(anchor.axes[static_cast<size_t>(sort->axis)].extent);
  const auto block = static_cast<int64_t>(std::bit_ceil(wanted));
  SortPlan out;
  if (shared) out.shares = p.vector_width, out.kept = block;
  out.terms = ceil_div(anchor.axes.back().extent, out.shares);
  const bool few = 4 * block <= out.terms;  // more blocks than that cost less than one large sort
  out.block = few ? block : std::max(out.terms, out.kept);
  out.elements = (few ? 2 : 1) * out.block * p.vector_width;
  const auto merges = [](int64_t n) {
    return static_cast<double>(std::bit_width(static_cast<uint64_t>(n - 1)));
  };
  const double steps = merges(few ? block : out.terms);
  out.walks = steps * (steps + 1) / 2;
  if (few)  // half of the arrays for each block: its stages, then a merge
    out.walks = (out.walks + steps + 1) / 2 * static_cast<double>(ceil_div(out.terms, block));
  if (shared)  // one share with another, until one is left: a comparison, then stages
    out.walks += merges(out.shares) * (merges(block) + 1) * static_cast<double>(block) /
                 static_cast<double>((few ? 2 : 1) * out.block);
  return out;
}

int64_t shared_state(const ir::Program& p) {
  const ir::Node& anchor = p.graph.nodes[0];
  const auto* tuple = std::get_if<ir::TupleReduction>(&anchor.kind);
  if (tuple == nullptr || p.vector_axis != tuple->axis) return 0;
  int64_t out = static_cast<int64_t>(tuple->state.size()) * p.vector_width;
  for (int a = 0; a < ir::spatial_count(p.graph, anchor); ++a)
    if (a != tuple->axis) out *= tile(p, static_cast<int>(p.tiles.size()) - 1, a);
  return out;
}

bool adds_late(const ir::Program& p, const Nest& nest) {
  return p.prefetch > 0 && has_partial_sums(nest);
}

}  // namespace assay::lower
