#include "lower/kind_body.h"

#include <utility>

#include "lower/build.h"
#include "lower/kinds.h"

namespace assay::lower {

namespace {

// Axes that the kind walks are one position of the tile.
TileClass positions_of(const ir::Node& anchor, TileClass tile) {
  for (size_t a = 0; a < tile.size(); ++a)
    if (ir::is_whole(anchor, static_cast<int>(a))) tile[a] = 1;
  return tile;
}

}  // namespace

KindBody::KindBody(Lowering& s, TileClass tile, const Place& place)
    : TileBody(s, positions_of(s.anchor, std::move(tile)), place) {}

Place KindBody::moved(Place place, int axis, ir::Index at) {
  place.at[static_cast<size_t>(axis)] = std::move(at);
  return place;
}

void KindBody::walk(const std::vector<int>& axes, const Place& place, ir::Block& out,
                    const Inside& inside) {
  if (axes.empty()) return inside(place, out);
  const ir::Axis& axis = s_.anchor.axes[static_cast<size_t>(axes[0])];
  const std::vector<int> rest(axes.begin() + 1, axes.end());
  if (axis.extent == 1) return walk(rest, moved(place, axes[0], ir::constant(0)), out, inside);
  ir::For f;
  f.limit = axis.extent;
  f.var = s_.new_index(axis.name + std::to_string(s_.ranges.size()), axis.extent);
  walk(rest, moved(place, axes[0], ir::variable(f.var)), f.body, inside);
  append(out, std::move(f));
}

std::vector<ir::Value> KindBody::terms(const Place& place, const Point& pt) const {
  std::vector<ir::Value> out;
  for (int r = 0; r < static_cast<int>(s_.anchor.reads.size()); ++r)
    out.push_back(ir::is_used(s_.anchor, r) ? read_at(r, place, pt) : ir::Value());
  return out;
}

ir::Value KindBody::read_at(int read, const Place& place, const Point& pt) const {
  return read_external(s_.anchor.reads[static_cast<size_t>(read)], position(place, pt.offset),
                       pt.count);
}

ir::Value KindBody::term(const Place& place, const Point& pt) const {
  return scalar_value(s_.anchor.body, terms(place, pt), position(place, pt.offset));
}

ir::Value KindBody::with_term(const ir::Value& sum, const Place& place, const Point& pt) const {
  return combined(sum, s_.anchor.body, terms(place, pt), position(place, pt.offset));
}

void emit_kind(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out) {
  if (std::holds_alternative<ir::Scan>(s.anchor.kind)) return emit_scan(s, tile, place, out);
  if (std::holds_alternative<ir::Scatter>(s.anchor.kind)) return emit_scatter(s, tile, place, out);
  if (std::holds_alternative<ir::Sort>(s.anchor.kind)) return emit_sort(s, tile, place, out);
  emit_tuple(s, tile, place, out);
}

}  // namespace assay::lower
