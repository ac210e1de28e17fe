#include "compiler/search/point.h"

#include <algorithm>

namespace assay::compiler {

namespace {

// The choice that gives packed operands and copies the point's layouts.
Choice choice_of(const Space& s, const Point& point) {
  Choice c = unit_choice(s);
  c.vector_axis = point.vector_axis;
  c.vector_width = point.vector_width;
  c.register_tile = point.extents.back();
  if (static_cast<int>(point.extents.size()) == levels_of(s)) c.block_tile = c.group_tile;
  for (int r = 0; r < static_cast<int>(point.staged.size()); ++r)
    if (point.staged[static_cast<size_t>(r)] >= 0) c.staged.push_back(r);
  c.prefetch = point.prefetch;
  return c;
}

}  // namespace

int levels_of(const Space& s) {
  Choice c = unit_choice(s);
  c.block_tile = c.group_tile;
  return static_cast<int>(build(s, c).tiles.size());
}

ir::Program program_of(const Space& s, const Point& point) {
  ir::Program p = build(s, choice_of(s, point));
  ASSAY_CHECK(p.tiles.size() == point.extents.size());
  for (size_t l = 0; l < p.tiles.size(); ++l) {
    p.tiles[l].extent = point.extents[l];
    p.tiles[l].order = point.orders[l];
  }
  for (size_t t = 0; t < p.layouts.size(); ++t)
    if (!point.packed[t]) p.layouts[t] = s.problem.layouts[t];
  for (ir::Staging& copy : p.staging) copy.level = point.staged[static_cast<size_t>(copy.read)];
  deal_runs(s, p);
  return p;
}

Point point_of(const Space& s, const ir::Program& p) {
  Point out;
  out.vector_axis = p.vector_axis;
  out.vector_width = p.vector_width;
  out.prefetch = p.prefetch;
  for (const ir::TileLevel& tile : p.tiles) {
    out.extents.push_back(tile.extent);
    // Axes that a level does not walk come last: their loop has one trip at any position.
    std::vector<int> order = tile.order;
    for (int a = 0; a < static_cast<int>(tile.extent.size()); ++a)
      if (std::find(order.begin(), order.end(), a) == order.end()) order.push_back(a);
    out.orders.push_back(std::move(order));
  }
  out.staged.assign(s.anchor.reads.size(), -1);
  for (const ir::Staging& copy : p.staging) out.staged[static_cast<size_t>(copy.read)] = copy.level;
  for (size_t t = 0; t < p.layouts.size(); ++t)
    out.packed.push_back(p.layouts[t] != s.problem.layouts[t]);
  return out;
}

}  // namespace assay::compiler
