// The register tile: its accumulators and the unrolled body of the reduction.
#include "lower/tile_body.h"

#include <algorithm>

#include "lower/build.h"

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
    case S::round:
      return V::round;
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

// Whether `b` is less than `line` elements after `a`, for all values of their variables.
bool shares_line(const ir::Index& a, const ir::Index& b, int64_t line) {
  return a.terms == b.terms && b.offset >= a.offset && b.offset < a.offset + line;
}

}  // namespace

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

std::vector<ir::Index> TileBody::position(const Place& place, const Point& pt) const {
  if (pt.lane.empty()) return position(place, pt.offset);
  std::vector<ir::Index> out;
  for (size_t a = 0; a < place.at.size(); ++a)
    out.push_back(place.at[a] + pt.offset[a] + pt.lane[a]);
  return out;
}

ir::Value TileBody::scalar_value(const ir::Scalar& e, const std::vector<ir::Value>& reads,
                                 const std::vector<ir::Index>& at) const {
  if (e.op == ir::ScalarOp::read) return reads[static_cast<size_t>(e.operand)];
  if (e.op == ir::ScalarOp::constant) return s_.number(e.value);
  if (e.op == ir::ScalarOp::axis) {
    const std::optional<LaneAddress> a = split_lane(s_, at[static_cast<size_t>(e.operand)]);
    ASSAY_CHECK(a.has_value());
    ir::Value v;
    v.op = ir::ValueOp::lane_index;
    v.dtype = s_.type;
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

// Values of all reads at one point. A value that several accumulators use is loaded into a register
// at its first use.
std::vector<ir::Value> TileBody::shared_reads(const Place& place,
                                              const std::vector<int64_t>& offset, const Point& pt,
                                              std::map<std::vector<int64_t>, int>& seen,
                                              ir::Block& out) {
  std::vector<ir::Value> values;
  for (size_t r = 0; r < s_.anchor.reads.size(); ++r) {
    if (!ir::is_used(s_.anchor, static_cast<int>(r))) {  // only a position for other reads
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
    values.push_back(s_.held(reg));
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
  ir::Block first_pass, later_pass;  // later passes begin with partial sums of the output
  for (const Point& pt : points_) {
    (late ? out : first_pass)
        .push_back({ir::Assign{pt.reg, s_.number(ir::identity_of(s_.anchor.combine))}});
    if (!partial) continue;
    const ir::Value sum = partial_sum(pt);
    if (late)
      append(later_pass, ir::Prefetch{sum.id, sum.index});
    else
      append(later_pass, ir::Assign{pt.reg, sum});
  }
  if (partial)
    append(out,
           ir::If{outer_reduce_at(place_, true), std::move(first_pass), std::move(later_pass)});
  else
    out.insert(out.end(), first_pass.begin(), first_pass.end());
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
  ir::Block later_pass;
  for (const Point& pt : points_)
    append(later_pass, ir::Assign{pt.reg, op_value(combine_op(s_.anchor.combine),
                                                   {s_.held(pt.reg), partial_sum(pt)})});
  append(out, ir::If{outer_reduce_at(place, true), {}, std::move(later_pass)});
}

void TileBody::emit_prefetch(const Place& place, const std::vector<int64_t>& reduce_offset,
                             ir::Block& out) {
  if (s_.p.prefetch == 0 || s_.nest.first_inner == s_.nest.loops.size()) return;
  // Prefetches the next addresses in memory, not along the axis. Operands are stored in the order
  // in which the nest reads them, and the innermost loop may be a short strip of its axis.
  const Loop& inner = s_.nest.loops.back();
  int step = -1;  // the innermost loop's variable: the largest in the position of its axis
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
      if (!stride) continue;  // it is no plain load
      const int64_t line =
          s_.line_bytes / ir::bytes_of(s_.kernel.buffers[static_cast<size_t>(v.id)].dtype);
      if (last && shares_line(*last, v.index, line)) continue;
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
      append(out, ir::Assign{pt.reg, combined(s_.held(pt.reg), s_.anchor.body, reads, at)});
    }
  }
}

}  // namespace assay::lower
