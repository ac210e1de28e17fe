#include "lower/lower.h"

#include <algorithm>

#include "lower/build.h"
#include "lower/legal.h"
#include "lower/lowering.h"

namespace assay::lower {

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

class Emitter {  // invariant: emits the nest's loops in order, copies at their places
 public:
  explicit Emitter(Lowering& s) : s_(s) {}

  void emit_all() {
    Place place;
    place.at.assign(s_.anchor.axes.size(), ir::constant(0));
    place.level.assign(s_.p.tiles.size(), place.at);
    emit_copies(-1, place, s_.kernel.body);
    emit(0, place, s_.p.tiles.back().extent, s_.kernel.body, nullptr);
  }

 private:
  const Loop& loop(size_t i) const { return s_.nest.loops[i]; }
  int64_t extent(const Loop& l) const { return s_.anchor.axes[static_cast<size_t>(l.axis)].extent; }

  bool last_of_axis(size_t i) const {
    return std::none_of(s_.nest.loops.begin() + static_cast<ptrdiff_t>(i) + 1, s_.nest.loops.end(),
                        [&](const Loop& l) { return l.axis == loop(i).axis; });
  }

  void emit_copies(int after_loop, const Place& place, ir::Block& out) {
    for (const auto& [read, staged] : s_.staged)
      if (staged.place == after_loop) emit_copy(s_, staged, place, out);
  }

  static void move_to(Place& place, const Loop& l, ir::Index at) {
    const auto a = static_cast<size_t>(l.axis);
    place.at[a] = at;
    for (size_t level = static_cast<size_t>(l.level); level < place.level.size(); ++level) place.level[level][a] = at;
  }

  // Everything inside loop i, once its position is set.
  void emit_inside(size_t i, const Place& place, const TileClass& tile, ir::Block& out, TileBody* body) {
    emit_copies(static_cast<int>(i), place, out);
    emit(i + 1, place, tile, out, body);
  }

  void emit(size_t i, const Place& place, const TileClass& tile, ir::Block& out, TileBody* body) {
    if (i == s_.nest.first_inner && body == nullptr) {
      TileBody tile_body(s_, tile, place);
      tile_body.emit_begin(out);
      if (s_.anchor.combine != ir::Combiner::none) emit(i, place, tile, out, &tile_body);
      tile_body.emit_end(place, out);
      return;
    }
    if (i == s_.nest.loops.size()) {
      body->emit_reduce_point(place, tile, out);
      return;
    }
    if (loop(i).group)
      emit_group(i, place, tile, out, body);
    else
      emit_loop(i, place, tile, out, body);
  }

  // A group loop: its variable is decoded from the group id.
  void emit_group(size_t i, Place place, const TileClass& tile, ir::Block& out, TileBody* body) {
    const Loop& l = loop(i);
    int64_t stride = 1;
    for (size_t j = i + 1; j < s_.nest.loops.size(); ++j)
      if (loop(j).group) stride *= loop(j).trips;
    const int var = s_.new_index("g" + s_.anchor.axes[static_cast<size_t>(l.axis)].name, l.trips);
    ir::Index value = ir::divide(ir::variable(0), stride, s_.ranges);
    if (i > 0) value = ir::modulo(value, l.trips, s_.ranges);
    append(out, ir::LetIndex{var, ir::simplify(value, s_.ranges)});
    move_to(place, l, ir::variable(var, l.tile));
    const int64_t full = extent(l) / l.tile, rest = extent(l) % l.tile;
    if (rest == 0 || !last_of_axis(i)) {
      emit_inside(i, place, tile, out, body);
      return;
    }
    ir::If split;
    split.conditions.push_back({ir::variable(var), 0, full - 1});
    emit_inside(i, place, tile, split.then_body, body);
    emit_rest(i, place, tile, split.else_body, body);
    append(out, std::move(split));
  }

  // The partial tile at the end of the axis.
  void emit_rest(size_t i, Place place, TileClass tile, ir::Block& out, TileBody* body) {
    const Loop& l = loop(i);
    const int64_t full = extent(l) / l.tile;
    move_to(place, l, ir::constant(full * l.tile));
    tile[static_cast<size_t>(l.axis)] = extent(l) - full * l.tile;
    emit_inside(i, place, tile, out, body);
  }

  void emit_loop(size_t i, const Place& place, const TileClass& tile, ir::Block& out, TileBody* body) {
    const Loop& l = loop(i);
    const int64_t whole = extent(l), enclosing = enclosing_extent(s_.p, l.level, l.axis);
    const bool last = last_of_axis(i);
    const bool clipped = enclosing < whole && whole % enclosing != 0;
    const int64_t tiles = last ? whole / l.tile : ceil_div(whole, l.tile);
    const ir::Index base = ir::divide(place.at[static_cast<size_t>(l.axis)], l.tile, s_.ranges);
    ir::For f;
    f.limit = std::min(tiles, last ? enclosing / l.tile : ceil_div(enclosing, l.tile));
    f.var = s_.new_index(s_.anchor.axes[static_cast<size_t>(l.axis)].name + std::to_string(l.level), f.limit);
    if (clipped) f.bounds.push_back(ir::constant(tiles) + base * -1);
    if (f.limit > 0) {
      Place inner = place;
      move_to(inner, l, place.at[static_cast<size_t>(l.axis)] + ir::variable(f.var, l.tile));
      emit_inside(i, inner, tile, f.body, body);
      append(out, std::move(f));
    }
    if (!last || whole % l.tile == 0) return;
    if (enclosing == whole) {
      emit_rest(i, place, tile, out, body);
      return;
    }
    ir::If at_end;
    at_end.conditions.push_back({base, tiles - ceil_div(enclosing, l.tile) + 1, tiles});
    emit_rest(i, place, tile, at_end.then_body, body);
    append(out, std::move(at_end));
  }

  Lowering& s_;
};

}  // namespace

Result<ir::Kernel> lower(const ir::Program& p, const hwdesc::Target& target) {
  Diags diags = legal(p, target);
  if (!diags.empty()) return diags;
  Lowering s(p);
  Emitter(s).emit_all();
  if (!s.diags.empty()) return s.diags;
  return std::move(s.kernel);
}

}  // namespace assay::lower
