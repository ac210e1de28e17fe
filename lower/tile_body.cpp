// The register tile: accumulators as named vectors, the unrolled body, epilogue and store.
#include <algorithm>
#include <limits>

#include "lower/build.h"
#include "lower/lowering.h"

namespace assay::lower {

namespace {

ir::ValueOp value_op(ir::ScalarOp op) {
  using S = ir::ScalarOp;
  using V = ir::ValueOp;
  switch (op) {
    case S::add:
      return V::add;
    case S::sub:
      return V::sub;
    case S::mul:
      return V::mul;
    case S::div:
      return V::div;
    case S::max:
      return V::max;
    case S::min:
      return V::min;
    case S::pow:
      return V::pow;
    case S::neg:
      return V::neg;
    case S::abs:
      return V::abs;
    case S::exp:
      return V::exp;
    case S::log:
      return V::log;
    case S::sqrt:
      return V::sqrt;
    case S::tanh:
      return V::tanh;
    case S::erf:
      return V::erf;
    case S::floor:
      return V::floor;
    case S::ceil:
      return V::ceil;
    case S::less:
      return V::less;
    case S::equal:
      return V::equal;
    case S::select:
      return V::select;
    case S::read:
    case S::constant:
    case S::axis:
      break;
  }
  ASSAY_CHECK(false);
}

ir::ValueOp combine_op(ir::Combiner c) {
  switch (c) {
    case ir::Combiner::product:
      return ir::ValueOp::mul;
    case ir::Combiner::max:
      return ir::ValueOp::max;
    case ir::Combiner::min:
      return ir::ValueOp::min;
    case ir::Combiner::sum:
    case ir::Combiner::none:
      return ir::ValueOp::add;
  }
  ASSAY_CHECK(false);
}

// What both say.
ir::Range narrower(const ir::Range& a, const ir::Range& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

// Is what begins at `b` less than `line` elements behind what begins at `a`, wherever both are?
bool shares_line(const ir::Index& a, const ir::Index& b, int64_t line) {
  return a.terms == b.terms && b.offset >= a.offset && b.offset < a.offset + line;
}

// All offsets inside a box, last dimension fastest.
std::vector<std::vector<int64_t>> offsets_in(const std::vector<int64_t>& box) {
  std::vector<std::vector<int64_t>> out{std::vector<int64_t>(box.size(), 0)};
  for (size_t d = 0; d < box.size(); ++d) {
    std::vector<std::vector<int64_t>> next;
    for (const auto& base : out)
      for (int64_t i = 0; i < box[d]; ++i) {
        next.push_back(base);
        next.back()[d] = i;
      }
    out = std::move(next);
  }
  return out;
}

}  // namespace

TileBody::TileBody(Lowering& s, TileClass tile, const Place& place)
    : s_(s), tile_(std::move(tile)), place_(place) {
  const int spatial = ir::spatial_count(s.p.graph, s.anchor);
  const int v = s.p.vector_axis;
  std::vector<int64_t> box(tile_.size(), 1);
  for (int a = 0; a < spatial; ++a)
    if (a != v) box[static_cast<size_t>(a)] = tile_[static_cast<size_t>(a)];
  const int64_t lanes = v < 0 ? 1 : tile_[static_cast<size_t>(v)];
  const int64_t w = s.width();
  int row = 0;
  for (const auto& offset : offsets_in(box)) {
    for (int64_t first = 0, n = 0; first < lanes; first += w, ++n) {
      Point pt;
      pt.offset = offset;
      if (v >= 0) pt.offset[static_cast<size_t>(v)] = first;
      pt.row = row;
      pt.vector = static_cast<int>(n);
      pt.count = static_cast<int>(std::min(w, lanes - first));
      points_.push_back(std::move(pt));
    }
    ++row;
  }
}

std::vector<ir::Index> TileBody::position(const Place& place,
                                          const std::vector<int64_t>& offset) const {
  std::vector<ir::Index> out;
  for (size_t a = 0; a < place.at.size(); ++a) {
    ir::Index i = place.at[a] + offset[a];
    if (static_cast<int>(a) == s_.p.vector_axis) i = std::move(i) + ir::variable(s_.lane);
    out.push_back(std::move(i));
  }
  return out;
}

ir::Value TileBody::load(int tensor, const ir::Layout& layout, std::vector<int64_t> shape,
                         int buffer, const std::vector<ir::Index>& index, int count,
                         double fill) const {
  const ir::Index offset = ir::physical_offset(layout, shape, index, s_.ranges);
  const std::optional<LaneAddress> address = split_lane(s_, offset);
  ir::Value v;
  v.lanes = s_.width();
  v.id = buffer;
  if (!address) {
    s_.diags.push_back(error(s_.p.name + ": lanes along axis " +
                             s_.anchor.axes[static_cast<size_t>(s_.p.vector_axis)].name +
                             " of tensor " + s_.p.graph.tensors[static_cast<size_t>(tensor)].name +
                             " are not equidistant"));
    v.op = ir::ValueOp::constant;
    return v;
  }
  v.index = address->base;
  v.number = fill;
  v.stride = address->stride;
  v.count = count;
  if (address->stride == 0) {
    v.op = ir::ValueOp::splat;
    v.count = 0;
    v.number = 0;
  } else if (address->stride == 1) {
    v.op = ir::ValueOp::load;
    v.stride = 0;
    for (size_t d = 0; d < index.size(); ++d)
      if (ir::depends_on(index[d], s_.lane) &&
          whole_vectors(layout, static_cast<int>(d), s_.width()))
        v.count = s_.width();
  } else {
    v.op = ir::ValueOp::gather;
  }
  return v;
}

ir::Value TileBody::guarded(const ir::Read& r, int tensor, const std::vector<ir::Index>& index,
                            ir::Value value) const {
  if (!r.guarded) return value;
  const ir::Tensor& t = s_.p.graph.tensors[static_cast<size_t>(tensor)];
  const ir::Layout& layout = s_.p.layouts[static_cast<size_t>(tensor)];
  std::vector<ir::Range> whole;
  for (const ir::Axis& a : s_.anchor.axes) whole.push_back({0, a.extent - 1});
  ir::Value g;
  g.op = ir::ValueOp::guard;
  g.lanes = value.lanes;
  for (size_t d = 0; d < index.size(); ++d) {
    const ir::Range range =
        narrower(ir::range_of(r.index[d], whole), ir::range_of(index[d], s_.ranges));
    ir::Pad pad = r.fill == 0 ? ir::pad_of(layout, static_cast<int>(d)) : ir::Pad{};
    if (range.low >= -pad.before && range.high <= t.shape[d] - 1 + pad.after) continue;
    if (ir::depends_on(index[d], s_.lane))
      s_.diags.push_back(
          error(s_.p.name + ": a guard on tensor " + t.name + " differs between lanes"));
    g.conditions.push_back({index[d], 0, t.shape[d] - 1});
  }
  if (g.conditions.empty()) return value;
  g.args = {std::move(value), constant_value(r.fill, s_.width())};
  return g;
}

std::vector<ir::Index> TileBody::index_at(const ir::Read& r,
                                          const std::vector<ir::Index>& at) const {
  std::vector<ir::Index> index;
  for (const ir::Index& i : r.index)
    index.push_back(ir::simplify(
        ir::substitute(i, [&](int a) { return at[static_cast<size_t>(a)]; }), s_.ranges));
  return index;
}

// The position is located once for all that read there; outside the tensor nothing is loaded.
ir::Value TileBody::read_looked_up(const ir::Read& r, const std::vector<ir::Index>& at, int count,
                                   ir::Block& out) {
  const ir::Read& positions = s_.anchor.reads[static_cast<size_t>(r.lookup->read)];
  const ir::Tensor &t = s_.p.graph.tensors[static_cast<size_t>(r.tensor)],
                   &p = s_.p.graph.tensors[static_cast<size_t>(positions.tensor)];
  const int64_t extent = t.shape[static_cast<size_t>(r.lookup->dim)];
  ir::Locate locate;
  locate.id = s_.buffer_of.at(positions.tensor);
  locate.index = ir::physical_offset(s_.p.layouts[static_cast<size_t>(positions.tensor)], p.shape,
                                     index_at(positions, at), s_.ranges);
  locate.extent = extent;
  const auto found = std::find_if(located_.begin(), located_.end(),
                                  [&](const Located& l) { return l.statement == locate; });
  int var = found == located_.end() ? -1 : found->var;
  if (var < 0) {
    var = s_.new_index("at" + std::to_string(s_.ranges.size()), extent);
    located_.push_back({locate, var});
    locate.var = var;
    append(out, locate);
  }
  std::vector<ir::Index> index = index_at(r, at);
  index[static_cast<size_t>(r.lookup->dim)] = ir::variable(var);
  ir::Value g;
  g.op = ir::ValueOp::guard;
  g.lanes = s_.width();
  g.conditions.push_back({ir::variable(var), 0, extent - 1});
  g.args = {load(r.tensor, s_.p.layouts[static_cast<size_t>(r.tensor)], t.shape,
                 s_.buffer_of.at(r.tensor), index, count, 0),
            constant_value(r.fill, s_.width())};
  return guarded(r, r.tensor, index, std::move(g));
}

ir::Value TileBody::read_external(const ir::Read& r, const std::vector<ir::Index>& at,
                                  int count) const {
  const std::vector<ir::Index> index = index_at(r, at);
  const ir::Tensor& t = s_.p.graph.tensors[static_cast<size_t>(r.tensor)];
  ir::Value v = load(r.tensor, s_.p.layouts[static_cast<size_t>(r.tensor)], t.shape,
                     s_.buffer_of.at(r.tensor), index, count, 0);
  return guarded(r, r.tensor, index, std::move(v));
}

ir::Value TileBody::read_anchor(int read, const Place& place, const std::vector<int64_t>& offset,
                                int count, ir::Block& out) {
  const ir::Read& r = s_.anchor.reads[static_cast<size_t>(read)];
  const auto it = s_.staged.find(read);
  const std::vector<ir::Index> at = position(place, offset);
  if (r.lookup) return read_looked_up(r, at, count, out);
  if (it == s_.staged.end()) return read_external(r, at, count);
  const StagedBuffer& staged = it->second;
  const auto level = static_cast<size_t>(staged.staging.level);
  const std::vector<ir::Range> tile = tile_ranges(s_.p, staged.staging.level);
  std::vector<ir::Index> local;
  for (const ir::Index& i : r.index) {
    const int64_t low = ir::range_of(i, tile).low;
    ir::Index inside = ir::substitute(i, [&](int a) {
      const auto ax = static_cast<size_t>(a);
      return at[ax] + place.level[level][ax] * -1;
    });
    local.push_back(ir::simplify(inside + -low, s_.ranges));
  }
  return load(r.tensor, staged.staging.layout, staged.shape, staged.buffer, local, count, 0);
}

ir::Value TileBody::scalar_value(const ir::Scalar& e, const std::vector<ir::Value>& reads,
                                 const std::vector<ir::Index>& at) const {
  if (e.op == ir::ScalarOp::read) return reads[static_cast<size_t>(e.operand)];
  if (e.op == ir::ScalarOp::constant) return constant_value(e.value, s_.width());
  if (e.op == ir::ScalarOp::axis) {
    const std::optional<LaneAddress> a = split_lane(s_, at[static_cast<size_t>(e.operand)]);
    ASSAY_CHECK(a.has_value());
    ir::Value v;
    v.op = ir::ValueOp::lane_index;
    v.lanes = s_.width();
    v.index = a->base;
    v.stride = a->stride;
    return v;
  }
  std::vector<ir::Value> args;
  for (const ir::Scalar& a : e.args) args.push_back(scalar_value(a, reads, at));
  return op_value(value_op(e.op), std::move(args));
}

ir::Value TileBody::combined(const ir::Value& acc, const ir::Scalar& body,
                             const std::vector<ir::Value>& reads,
                             const std::vector<ir::Index>& at) const {
  if (s_.anchor.combine == ir::Combiner::sum && body.op == ir::ScalarOp::mul)
    return op_value(ir::ValueOp::fma, {scalar_value(body.args[0], reads, at),
                                       scalar_value(body.args[1], reads, at), acc});
  return op_value(combine_op(s_.anchor.combine), {acc, scalar_value(body, reads, at)});
}

// Values of all reads at one point; those that several accumulators use go through a register,
// assigned where they are first needed.
std::vector<ir::Value> TileBody::shared_reads(const Place& place,
                                              const std::vector<int64_t>& offset, const Point& pt,
                                              std::map<std::vector<int64_t>, int>& seen,
                                              ir::Block& out) {
  std::vector<ir::Value> values;
  for (size_t r = 0; r < s_.anchor.reads.size(); ++r) {
    if (!ir::is_used(s_.anchor, static_cast<int>(r))) {  // positions for other reads
      values.emplace_back();
      continue;
    }
    std::vector<int64_t> key{static_cast<int64_t>(r)};
    bool shared = false;
    for (size_t a = 0; a < tile_.size(); ++a) {
      const bool moves = reads_axis(s_.p, static_cast<int>(r), static_cast<int>(a));
      const bool spatial = static_cast<int>(a) < ir::spatial_count(s_.p.graph, s_.anchor);
      const int64_t steps = static_cast<int>(a) == s_.p.vector_axis
                                ? (tile_[a] + s_.width() - 1) / s_.width()
                                : tile_[a];
      if (spatial && !moves && steps > 1) shared = true;
      key.push_back(moves ? offset[a] : 0);
    }
    if (!shared) {
      values.push_back(read_anchor(static_cast<int>(r), place, offset, pt.count, out));
      continue;
    }
    const auto found = seen.find(key);
    int reg = found == seen.end() ? -1 : found->second;
    if (reg < 0) {
      reg = s_.new_register(
          "r" + std::to_string(r) + "_" + std::to_string(s_.kernel.registers.size()), s_.width());
      append(out, ir::Declare{{reg}});
      append(out, ir::Assign{reg, read_anchor(static_cast<int>(r), place, offset, pt.count, out)});
      seen[key] = reg;
    }
    values.push_back(reg_value(reg, s_.width()));
  }
  return values;
}

std::vector<ir::Condition> TileBody::outer_reduce_at(const Place& place, bool first) const {
  std::map<int, int64_t> tile_of;  // reduce axis -> extent of its innermost loop outside
  for (size_t i = 0; i < s_.nest.first_inner; ++i)
    if (s_.nest.loops[i].reduce) tile_of[s_.nest.loops[i].axis] = s_.nest.loops[i].tile;
  std::vector<ir::Condition> out;
  for (const auto& [axis, tile] : tile_of) {
    const int64_t extent = s_.anchor.axes[static_cast<size_t>(axis)].extent;
    const ir::Index& at = place.at[static_cast<size_t>(axis)];
    out.push_back(first ? ir::Condition{at, 0, 0} : ir::Condition{at, extent - tile, extent - 1});
  }
  return out;
}

void TileBody::emit_begin(ir::Block& out) {
  if (s_.anchor.combine == ir::Combiner::none) return;
  ir::Declare declare;
  for (Point& pt : points_) {
    pt.reg = s_.new_register("acc" + std::to_string(pt.row) + "_" + std::to_string(pt.vector) +
                                 "_" + std::to_string(s_.kernel.registers.size()),
                             s_.width());
    declare.regs.push_back(pt.reg);
  }
  append(out, std::move(declare));
  const bool partial = has_partial_sums(s_.nest), late = adds_late(s_.p, s_.nest);
  ir::Block fresh, again;  // of the first pass; of the others
  for (const Point& pt : points_) {
    (late ? out : fresh)
        .push_back(
            {ir::Assign{pt.reg, constant_value(ir::identity_of(s_.anchor.combine), s_.width())}});
    if (!partial) continue;
    const ir::Value sum = partial_sum(pt);
    if (late)
      append(again, ir::Prefetch{sum.id, sum.index});
    else
      append(again, ir::Assign{pt.reg, sum});
  }
  if (partial)
    append(out, ir::If{outer_reduce_at(place_, true), std::move(fresh), std::move(again)});
  else
    out.insert(out.end(), fresh.begin(), fresh.end());
}

ir::Value TileBody::partial_sum(const Point& pt) {
  const int target = s_.p.graph.outputs[0];
  const ir::Tensor& t = s_.p.graph.tensors[static_cast<size_t>(target)];
  std::vector<ir::Index> at = position(place_, pt.offset);
  at.resize(t.shape.size());
  return load(s_.anchor.output, s_.p.layouts[static_cast<size_t>(target)], t.shape,
              s_.buffer_of.at(target), at, pt.count, 0);
}

void TileBody::add_partial_sums(const Place& place, ir::Block& out) {
  ir::Block again;
  for (const Point& pt : points_)
    append(again, ir::Assign{pt.reg, op_value(combine_op(s_.anchor.combine),
                                              {reg_value(pt.reg, s_.width()), partial_sum(pt)})});
  append(out, ir::If{outer_reduce_at(place, true), {}, std::move(again)});
}

void TileBody::emit_prefetch(const Place& place, const std::vector<int64_t>& reduce_offset,
                             ir::Block& out) {
  if (s_.p.prefetch == 0 || s_.nest.first_inner == s_.nest.loops.size()) return;
  // Straight on in memory, not along the axis: operands are stored in the order in which the nest
  // reads them, and the innermost loop may be a short strip of its axis.
  const Loop& inner = s_.nest.loops.back();
  int step = -1;  // the innermost loop's variable: the newest in the axis' position
  for (const ir::Term& t : place.at[static_cast<size_t>(inner.axis)].terms)
    step = std::max(step, t.var);
  if (step < 0) return;
  for (size_t r = 0; r < s_.anchor.reads.size(); ++r) {
    const int read = static_cast<int>(r);
    if (s_.anchor.reads[r].lookup || !reads_axis(s_.p, read, s_.p.vector_axis) ||
        !reads_axis(s_.p, read, inner.axis))
      continue;
    bool moves_with_rows = false;
    for (int a = 0; a < ir::spatial_count(s_.p.graph, s_.anchor); ++a)
      if (a != s_.p.vector_axis && tile_[static_cast<size_t>(a)] > 1 && reads_axis(s_.p, read, a))
        moves_with_rows = true;
    if (moves_with_rows) continue;
    std::optional<ir::Index> last;
    for (const Point& pt : points_) {
      if (pt.row != 0) break;
      std::vector<int64_t> offset = pt.offset;
      for (size_t a = 0; a < offset.size(); ++a) offset[a] += reduce_offset[a];
      const ir::Value v = read_anchor(read, place, offset, pt.count, out);
      const std::optional<int64_t> stride =
          v.op == ir::ValueOp::load ? ir::stride_of(v.index, step) : std::nullopt;
      if (!stride || (last && shares_line(*last, v.index, s_.line))) continue;
      append(out, ir::Prefetch{v.id, v.index + *stride * s_.p.prefetch});
      last = v.index;
    }
  }
}

void TileBody::emit_reduce_point(const Place& place, const TileClass& tile, ir::Block& out) {
  std::vector<int64_t> box(tile.size(), 1);
  for (size_t a = static_cast<size_t>(ir::spatial_count(s_.p.graph, s_.anchor)); a < tile.size();
       ++a)
    box[a] = tile[a];
  located_.clear();
  for (const auto& reduce_offset : offsets_in(box)) {
    emit_prefetch(place, reduce_offset, out);
    std::map<std::vector<int64_t>, int> seen;
    for (const Point& pt : points_) {
      std::vector<int64_t> offset = pt.offset;
      for (size_t a = 0; a < offset.size(); ++a) offset[a] += reduce_offset[a];
      const std::vector<ir::Value> reads = shared_reads(place, offset, pt, seen, out);
      const std::vector<ir::Index> at = position(place, offset);
      append(out, ir::Assign{pt.reg,
                             combined(reg_value(pt.reg, s_.width()), s_.anchor.body, reads, at)});
    }
  }
}

ir::Value TileBody::epilogue(const Place& place, const Point& pt, ir::Value value) const {
  const std::vector<ir::Index> at = position(place, pt.offset);
  for (size_t n = 1; n < s_.p.graph.nodes.size(); ++n) {
    const ir::Node& node = s_.p.graph.nodes[n];
    std::vector<ir::Value> reads;
    for (const ir::Read& r : node.reads)
      reads.push_back(r.tensor == s_.p.graph.nodes[n - 1].output ? value
                                                                 : read_external(r, at, pt.count));
    value = scalar_value(node.body, reads, at);
  }
  return value;
}

void TileBody::store(const Place& place, const Point& pt, ir::Value value, ir::Block& out) {
  const int target = s_.p.graph.outputs[0];
  const ir::Tensor& t = s_.p.graph.tensors[static_cast<size_t>(target)];
  const ir::Layout& layout = s_.p.layouts[static_cast<size_t>(target)];
  std::vector<ir::Index> at = position(place, pt.offset);
  at.resize(t.shape.size());
  const std::optional<LaneAddress> address =
      split_lane(s_, ir::physical_offset(layout, t.shape, at, s_.ranges));
  ir::Store st;
  st.id = s_.buffer_of.at(target);
  if (!address) {
    s_.diags.push_back(
        error(s_.p.name + ": lanes of the output " + t.name + " are not equidistant"));
    return;
  }
  st.index = address->base;
  st.stride = s_.width() == 1 ? 1 : address->stride;
  st.count =
      s_.p.vector_axis >= 0 && st.stride == 1 && whole_vectors(layout, s_.p.vector_axis, s_.width())
          ? s_.width()
          : pt.count;
  st.value = std::move(value);
  append(out, std::move(st));
}

// What of a point lies in a part of the tile; of a count of 0: nothing.
TileBody::Point TileBody::inside(Point pt, const TileClass& tile) const {
  for (int a = 0; a < ir::spatial_count(s_.p.graph, s_.anchor); ++a) {
    const int64_t left = tile[static_cast<size_t>(a)] - pt.offset[static_cast<size_t>(a)];
    if (left <= 0)
      pt.count = 0;
    else if (a == s_.p.vector_axis)
      pt.count = static_cast<int>(std::min<int64_t>(pt.count, left));
  }
  return pt;
}

void TileBody::emit_end(const Place& place, const TileClass& tile, ir::Block& out) {
  const bool partial = has_partial_sums(s_.nest);
  ir::Block finish, pass_on;
  located_.clear();
  if (adds_late(s_.p, s_.nest)) add_partial_sums(place, out);
  for (const Point& whole : points_) {
    const Point pt = inside(whole, tile);
    if (pt.count <= 0) continue;
    ir::Value value;
    if (s_.anchor.combine == ir::Combiner::none) {
      std::vector<ir::Value> reads;
      for (size_t r = 0; r < s_.anchor.reads.size(); ++r)
        reads.push_back(ir::is_used(s_.anchor, static_cast<int>(r))
                            ? read_anchor(static_cast<int>(r), place, pt.offset, pt.count, finish)
                            : ir::Value());
      value = scalar_value(s_.anchor.body, reads, position(place, pt.offset));
    } else {
      value = reg_value(pt.reg, s_.width());
      if (partial) store(place, pt, value, pass_on);
    }
    store(place, pt, epilogue(place, pt, std::move(value)), finish);
  }
  if (!partial || s_.p.graph.nodes.size() == 1) {
    out.insert(out.end(), finish.begin(), finish.end());
    return;
  }
  append(out, ir::If{outer_reduce_at(place, false), std::move(finish), std::move(pass_on)});
}

}  // namespace assay::lower
