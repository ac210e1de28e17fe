#include "lower/nest.h"

#include <algorithm>

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
  const ir::Read& r = p.graph.nodes[0].reads[static_cast<size_t>(read)];
  return std::any_of(r.index.begin(), r.index.end(),
                     [&](const ir::Index& i) { return ir::depends_on(i, axis); });
}

Nest nest_of(const ir::Program& p) {
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
      if (loop.trips > 1) nest.loops.push_back(loop);
    }
  }
  // Group loops come first, whatever stands between them: they are not loops of the kernel.
  std::stable_partition(nest.loops.begin(), nest.loops.end(), [](const Loop& l) { return l.group; });
  nest.first_inner = nest.loops.size();
  while (nest.first_inner > 0 && nest.loops[nest.first_inner - 1].reduce) --nest.first_inner;
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

std::vector<int64_t> staged_shape(const ir::Program& p, const ir::Staging& s) {
  const ir::Node& anchor = p.graph.nodes[0];
  std::vector<ir::Range> tile_ranges;
  for (int a = 0; a < static_cast<int>(anchor.axes.size()); ++a)
    tile_ranges.push_back({0, tile(p, s.level, a) - 1});
  std::vector<int64_t> shape;
  for (const ir::Index& i : anchor.reads[static_cast<size_t>(s.read)].index) {
    const ir::Range r = ir::range_of(i, tile_ranges);
    shape.push_back(r.high - r.low + 1);
  }
  return shape;
}

bool has_partial_sums(const Nest& nest) {
  return std::any_of(nest.loops.begin(), nest.loops.begin() + static_cast<ptrdiff_t>(nest.first_inner),
                     [](const Loop& l) { return l.reduce; });
}

}  // namespace assay::lower
