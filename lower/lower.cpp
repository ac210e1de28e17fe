#include "lower/lower.h"

#include <algorithm>
#include <memory>

#include "ir/producers.h"
#include "lower/build.h"
#include "lower/early_loads.h"
#include "lower/join_kernels.h"
#include "lower/kinds.h"
#include "lower/legal.h"
#include "lower/lowering.h"
#include "lower/matrix_body.h"
#include "lower/opaque_body.h"
#include "lower/thread_body.h"
#include "lower/tile_body.h"

namespace assay::lower {

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Reduction steps unrolled in vector code: half the loop overhead. Bodies with more than kLongBody
// live vectors are not unrolled: the overhead is small there, and two steps may spill.
constexpr int kVectorSteps = 2;
constexpr int64_t kLongBody = 8;

class Emitter {  // invariant: emits the loops of the nest in order, each copy after its loop
 public:
  Emitter(Lowering& s, bool vectors) : s_(s), vectors_(vectors) {}

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

  // Of the program's levels: waves are decoded before the loops around their tiles.
  bool last_of_axis(size_t i) const {
    return std::none_of(s_.nest.loops.begin(), s_.nest.loops.end(), [&](const Loop& l) {
      return l.axis == loop(i).axis && l.level > loop(i).level;
    });
  }
  // Does a group walk several tiles of the level around this one?
  bool is_walked(const Loop& inner) const {
    return std::any_of(s_.nest.loops.begin(), s_.nest.loops.end(), [&](const Loop& l) {
      return l.axis == inner.axis && l.is_sequential() && l.level < inner.level;
    });
  }

  void emit_copies(int after_loop, const Place& place, ir::Block& out) {
    const bool meet = s_.kernel.waves > 1 &&
                      std::any_of(s_.staged.begin(), s_.staged.end(),
                                  [&](const auto& s) { return s.second.place == after_loop; });
    if (meet) append(out, ir::Barrier{});
    for (const auto& [read, staged] : s_.staged)
      if (staged.place == after_loop) emit_copy(s_, staged, place, out);
    if (meet) append(out, ir::Barrier{});
  }

  static void move_to(Place& place, const Loop& l, const ir::Index& at) {
    const auto a = static_cast<size_t>(l.axis);
    place.at[a] = at;
    for (size_t level = static_cast<size_t>(l.level); level < place.level.size(); ++level)
      place.level[level][a] = at;
  }
  // Tiles around a wave's do not move with the wave.
  static void move_by(Place& place, const Loop& l, const ir::Index& distance) {
    const auto a = static_cast<size_t>(l.axis);
    place.at[a] = place.at[a] + distance;
    for (size_t level = static_cast<size_t>(l.level); level < place.level.size(); ++level)
      place.level[level][a] = place.level[level][a] + distance;
  }

  // Everything inside loop i, whose position is set in `place`.
  void emit_inside(size_t i, const Place& place, const TileClass& tile, ir::Block& out,
                   TileBody* body) {
    emit_copies(static_cast<int>(i), place, out);
    emit(i + 1, place, tile, out, body);
  }

  std::unique_ptr<TileBody> body_of(const TileClass& tile, const Place& place) {
    if (s_.p.threads) return std::make_unique<ThreadBody>(s_, tile, place);
    if (!s_.product) return std::make_unique<TileBody>(s_, tile, place);
    if (s_.product->instruction.opaque()) return std::make_unique<OpaqueBody>(s_, tile, place);
    return std::make_unique<MatrixBody>(s_, tile, place);
  }

  void emit(size_t i, const Place& place, const TileClass& tile, ir::Block& out, TileBody* body) {
    if (i == s_.nest.first_inner && body == nullptr) {
      if (!ir::is_expression(s_.anchor)) return emit_kind(s_, tile, place, out);
      const std::unique_ptr<TileBody> tile_body = body_of(tile, place);
      tile_body->emit_begin(out);
      if (s_.anchor.combine != ir::Combiner::none) emit(i, place, tile, out, tile_body.get());
      emit_ends(0, place, tile, *tile_body, out);
      return;
    }
    if (i == s_.nest.loops.size()) {
      body->emit_reduce_point(place, tile, out);
      return;
    }
    if (loop(i).is_sequential())
      emit_loop(i, place, tile, out, body);
    else
      emit_distributed(i, place, tile, out, body);
  }

  // The end of a register tile, one body for each part of it that may lie inside the tensors.
  // Splits from axis `a` on.
  void emit_ends(size_t a, const Place& place, const TileClass& tile, TileBody& body,
                 ir::Block& out) {
    if (a == place.at.size()) return body.emit_end(place, tile, out);
    const int64_t whole = s_.anchor.axes[a].extent;
    if (computed_extent(s_.p, static_cast<int>(a)) == whole)
      return emit_ends(a + 1, place, tile, body, out);
    TileClass partial = tile;
    partial[a] = whole % tile[a];
    split_tiles(
        ir::divide(place.at[a], tile[a], s_.ranges),
        computed_extent(s_.p, static_cast<int>(a)) / tile[a], whole, tile[a], out,
        [&](ir::Block& to) { emit_ends(a + 1, place, tile, body, to); },
        [&](ir::Block& to) { emit_ends(a + 1, place, partial, body, to); });
  }

  // A loop whose variable is decoded from the group or wave id.
  void emit_distributed(size_t i, Place place, const TileClass& tile, ir::Block& out,
                        TileBody* body) {
    const Loop& l = loop(i);
    int64_t stride = 1;
    for (size_t j = i + 1; j < s_.nest.loops.size(); ++j)
      if (loop(j).group == l.group && loop(j).wave == l.wave) stride *= loop(j).trips;
    const int var = s_.new_index(
        (l.wave ? "w" : "g") + s_.anchor.axes[static_cast<size_t>(l.axis)].name, l.trips);
    ir::Index value = ir::divide(ir::variable(l.wave ? s_.kernel.wave : 0), stride, s_.ranges);
    if (i > 0 && loop(i - 1).wave == l.wave) value = ir::modulo(value, l.trips, s_.ranges);
    append(out, ir::LetIndex{var, ir::simplify(value, s_.ranges)});
    move_by(place, l, ir::variable(var, l.tile));
    const int64_t tiles = l.wave ? ir::tile_count(s_.p, 0, l.axis) * l.trips : l.trips;
    if (tiles * l.tile == extent(l) || !last_of_axis(i) ||
        (l.wave && (computes_whole_tiles(s_.p) || is_walked(l)))) {
      emit_inside(i, place, tile, out, body);
      return;
    }
    const ir::Index number = ir::divide(place.at[static_cast<size_t>(l.axis)], l.tile, s_.ranges);
    split_tiles(
        number, tiles, extent(l), l.tile, out,
        [&](ir::Block& to) { emit_inside(i, place, tile, to, body); },
        [&](ir::Block& to) { emit_rest(i, place, tile, to, body); });
  }

  // Emits `full` for tiles inside an extent and `partial` for a last one that does not fill its
  // tile. Tiles past the end get nothing.
  template <class Full, class Partial>
  static void split_tiles(const ir::Index& number, int64_t tiles, int64_t whole, int64_t tile,
                          ir::Block& out, const Full& full, const Partial& partial) {
    const int64_t inside = whole / tile;
    ir::If split{{{number, 0, inside - 1}}, {}, {}};
    full(split.then_body);
    if (whole % tile != 0 && tiles == inside + 1) {
      partial(split.else_body);
    } else if (whole % tile != 0) {
      ir::If last{{{number, inside, inside}}, {}, {}};
      partial(last.then_body);
      append(split.else_body, std::move(last));
    }
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

  int64_t step_of_reduction() const { return s_.product ? s_.product->instruction.k : 1; }

  // Unroll factor of a reduction's innermost loop; 0: the compiler's choice.
  int unroll_factor() const {
    if (vectors_)
      return live_vectors(s_.p) <= kLongBody &&
                     loop(s_.nest.loops.size() - 1).tile == step_of_reduction()
                 ? kVectorSteps
                 : 0;
    return unrolled_steps(s_.p);
  }

  void emit_loop(size_t i, const Place& place, const TileClass& tile, ir::Block& out,
                 TileBody* body) {
    const Loop& l = loop(i);
    const int64_t whole = extent(l), enclosing = enclosing_extent(s_.p, l.level, l.axis);
    const bool last = last_of_axis(i);
    const bool clipped = enclosing < whole && whole % enclosing != 0;
    const int64_t tiles = last ? whole / l.tile : ceil_div(whole, l.tile);
    const ir::Index base = ir::divide(place.at[static_cast<size_t>(l.axis)], l.tile, s_.ranges);
    ir::For f;
    f.limit = std::min(tiles, last ? enclosing / l.tile : ceil_div(enclosing, l.tile));
    f.var = s_.new_index(s_.anchor.axes[static_cast<size_t>(l.axis)].name + std::to_string(l.level),
                         f.limit);
    if (clipped) f.bounds.push_back(ir::constant(tiles) + base * -1);
    if (l.reduce && i + 1 == s_.nest.loops.size()) f.unroll = unroll_factor();
    if (f.limit > 0) {
      Place inner = place;
      move_by(inner, l, ir::variable(f.var, l.tile));
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
  const bool vectors_;  // lanes are elements of vectors, not threads
};

}  // namespace

namespace {

// One program without producers. Pre: legal(p, target) is empty.
Result<ir::Kernel> lower_member(const ir::Program& p, const hwdesc::Target& target) {
  Lowering s(p, hwdesc::threads_of(target));
  if (!target.profile.memory.empty() && target.profile.memory[0].line.known())
    s.line_bytes = static_cast<int64_t>(target.profile.memory[0].line.value->v);
  const bool vectors = hwdesc::threads_of(target) == 1;
  Emitter(s, vectors).emit_all();
  if (vectors && s.kernel.vector_lane >= 0)
    s.diags.push_back(error(p.name + ": matrix instruction '" + p.instruction +
                                "' needs lanes at addresses of their own, which vectors have not",
                            "a layout in which neighbours of an operand are equidistant"));
  if (!s.diags.empty()) return s.diags;
  if (!vectors) bring_loads_forward(s.kernel);
  return std::move(s.kernel);
}

}  // namespace

ir::Kernel kernel_for_counting(const ir::Program& p) {
  const auto counted = [](const ir::Program& member) {
    Lowering s(member, 1);
    Emitter(s, true).emit_all();
    return std::move(s.kernel);
  };
  if (p.producers.empty()) return counted(p);
  std::vector<ir::Kernel> kernels;
  for (const ir::Member& m : ir::members_of(p)) kernels.push_back(counted(m.program));
  return join_kernels(p, kernels, false);
}

Result<ir::Kernel> lower(const ir::Program& p, const hwdesc::Target& target) {
  Diags diags = legal(p, target);
  if (!diags.empty()) return diags;
  if (p.producers.empty()) return lower_member(p, target);
  std::vector<ir::Kernel> kernels;
  for (const ir::Member& m : ir::members_of(p)) {
    Result<ir::Kernel> kernel = lower_member(m.program, target);
    if (!kernel.ok()) return kernel.diags();
    kernels.push_back(std::move(*kernel));
  }
  return join_kernels(p, kernels, hwdesc::threads_of(target) > 1);
}

}  // namespace assay::lower
