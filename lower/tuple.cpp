// A tuple reduction: a state per point, in a register per component. What the trees of a step share
// is computed once, and what does not move with the reduce axes before their loops.
//
// Of rows along the last reduce axis, the W lanes of a vector share a row: lane l gets terms l, l +
// W, l + 2 W .., each with a state of its own. Then the upper half of the lanes is combined with
// the lower half, until lane 0 is left. They meet in scratch, all rows of the tile at once.
#include <algorithm>
#include <map>
#include <utility>

#include "lower/build.h"
#include "lower/kind_body.h"
#include "lower/kinds.h"
#include "lower/nest.h"

namespace assay::lower {

namespace {

// One multiply-add for each sum of a product.
ir::Value with_multiply_adds(ir::Value v) {
  for (ir::Value& a : v.args) a = with_multiply_adds(std::move(a));
  if (v.op != ir::ValueOp::add) return v;
  const size_t product = v.args[0].op == ir::ValueOp::mul ? 0 : 1;
  if (v.args[product].op != ir::ValueOp::mul) return v;
  ir::Value sum = std::move(v.args[1 - product]);
  ir::Value a = std::move(v.args[product].args[0]), b = std::move(v.args[product].args[1]);
  return op_value(ir::ValueOp::fma, {std::move(a), std::move(b), std::move(sum)});
}

class TupleBody : public KindBody {
 public:
  TupleBody(Lowering& s, const TileClass& tile, const Place& place)
      : KindBody(s, tile, place),
        tuple_(std::get<ir::TupleReduction>(s.anchor.kind)),
        components_(static_cast<int>(tuple_.state.size())),
        operands_(components_ + static_cast<int>(s.anchor.reads.size())),
        last_(static_cast<int>(s.anchor.axes.size()) - 1),
        shares_(shared_state(s.p) > 0),
        step_(ir::share_parts(ir::steps_of(tuple_), operands_,
                              [this](const ir::Scalar& leaf) { return is_early(leaf); })),
        result_(ir::share_parts(tuple_.results, operands_)) {
    std::vector<ir::Scalar> combine;
    for (const ir::Component& c : tuple_.state) combine.push_back(c.combine);
    combine_ = ir::share_parts(combine, 2 * components_);
  }

  void emit(ir::Block& out) {
    for (Point& pt : points_) {
      if (shares_) pt.count = s_.width();
      rows_.push_back({declared("state", components_, out), {}});
    }
    for (Row& row : rows_)
      for (int c = 0; c < components_; ++c)
        append(out, ir::Assign{row.state[at(c)], s_.number(tuple_.state[at(c)].init)});
    find_fixed();
    for (size_t i = 0; i < points_.size(); ++i) emit_fixed(i, out);
    std::vector<int> axes;
    for (int a = last_ - tuple_.over + 1; a <= last_; ++a) axes.push_back(a);
    if (shares_) axes.pop_back();
    walk(axes, place_, out, [&](const Place& at, ir::Block& inside) {
      shares_ ? emit_vectors(at, inside) : emit_points(at, 0, inside);
    });
    for (int half = shares_ ? s_.width() / 2 : 0; half > 0; half /= 2) emit_merge(half, out);
    emit_results(out);
  }

 private:
  struct Row {                 // of the point of the same number
    std::vector<int> state;    // registers, per component
    std::map<int, int> fixed;  // operand -> register: reads and parts that are the same for all
  };                           // points of the reduce axes
  static size_t at(int i) { return static_cast<size_t>(i); }

  std::vector<int> declared(const char* name, int count, ir::Block& out) {
    ir::Declare declare;
    for (int i = 0; i < count; ++i)
      declare.regs.push_back(
          s_.new_register(name + std::to_string(s_.kernel.registers.size()), s_.width()));
    std::vector<int> regs = declare.regs;
    if (count > 0) append(out, std::move(declare));
    return regs;
  }

  int assigned(const char* name, ir::Value value, ir::Block& out) {
    const int reg = declared(name, 1, out)[0];
    append(out, ir::Assign{reg, with_multiply_adds(std::move(value))});
    return reg;
  }

  // Is it the same at all points of the reduce axes?
  bool is_early(const ir::Scalar& leaf) const {
    if (leaf.op == ir::ScalarOp::axis) return leaf.operand <= last_ - tuple_.over;
    const int read = leaf.operand - components_;
    if (read < 0) return false;
    for (int a = last_ - tuple_.over + 1; a <= last_; ++a)
      if (ir::moves_with(s_.anchor, read, a)) return false;
    return true;
  }

  // Operands of a step that are known before the loops: reads, then parts of them alone.
  void find_fixed() {
    for (int o = 0; o < operands_; ++o)
      fixed_.push_back(o >= components_ && ir::is_used(s_.anchor, o - components_) &&
                       is_early(ir::read(o)));
    for (const ir::Scalar& part : step_.parts) fixed_.push_back(is_fixed(part));
  }

  bool is_fixed(const ir::Scalar& s) const {
    if (s.op == ir::ScalarOp::axis) return is_early(s);
    if (s.op == ir::ScalarOp::read) return fixed_[at(s.operand)];
    return std::all_of(s.args.begin(), s.args.end(),
                       [&](const ir::Scalar& a) { return is_fixed(a); });
  }

  void emit_fixed(size_t i, ir::Block& out) {
    const Point& pt = points_[i];
    std::vector<ir::Value> values(fixed_.size());
    for (int o = components_; o < static_cast<int>(fixed_.size()); ++o) {
      if (!fixed_[at(o)]) continue;
      ir::Value value = o < operands_ ? read_at(o - components_, place_, pt)
                                      : scalar_value(step_.parts[at(o - operands_)], values,
                                                     position(place_, pt.offset));
      rows_[i].fixed[o] = assigned("fixed", std::move(value), out);
      values[at(o)] = s_.held(rows_[i].fixed[o]);
    }
  }

  // All vectors along the last axis, of which the last one may be partial.
  void emit_vectors(const Place& place, ir::Block& out) {
    const int64_t extent = s_.anchor.axes[at(last_)].extent, whole = extent / s_.width(),
                  rest = extent % s_.width();
    const auto along = [&](const ir::Index& vector) {
      return moved(place, last_, vector * s_.width() + ir::variable(s_.lane));
    };
    if (whole == 1) emit_points(along(ir::constant(0)), 0, out);
    if (whole > 1) {
      ir::For f;
      f.limit = whole;
      f.var = s_.new_index("v" + std::to_string(s_.ranges.size()), whole);
      emit_points(along(ir::variable(f.var)), 0, f.body);
      append(out, std::move(f));
    }
    if (rest > 0) emit_points(along(ir::constant(whole)), static_cast<int>(rest), out);
  }

  // A step of every point. `rest`: of the first lanes only; 0: of all.
  void emit_points(const Place& place, int rest, ir::Block& out) {
    for (size_t i = 0; i < points_.size(); ++i) {
      Point pt = points_[i];
      if (rest > 0) pt.count = rest;
      std::vector<ir::Value> values(fixed_.size());
      for (int c = 0; c < components_; ++c) values[at(c)] = s_.held(rows_[i].state[at(c)]);
      for (const auto& [operand, reg] : rows_[i].fixed) values[at(operand)] = s_.held(reg);
      for (int r = 0; r < operands_ - components_; ++r)
        if (ir::is_used(s_.anchor, r) && !fixed_[at(components_ + r)])
          values[at(components_ + r)] = s_.held(assigned("x", read_at(r, place, pt), out));
      set(rows_[i].state, step_, std::move(values), operands_, position(place, pt.offset), rest,
          out);
    }
  }

  // The values of the trees become the state, in the first `rest` lanes (0: in all). `values`: of
  // `operands` operands, and of the parts that are known.
  void set(const std::vector<int>& state, const ir::Shared& trees, std::vector<ir::Value> values,
           int operands, const std::vector<ir::Index>& where, int rest, ir::Block& out) {
    values.resize(at(operands) + trees.parts.size());
    for (size_t i = 0; i < trees.parts.size(); ++i) {
      ir::Value& part = values[at(operands) + i];
      if (part.op == ir::ValueOp::reg) continue;
      part = s_.held(assigned("part", scalar_value(trees.parts[i], values, where), out));
    }
    std::vector<int> next;
    for (const ir::Scalar& tree : trees.trees)
      next.push_back(assigned("next", scalar_value(tree, values, where), out));
    for (size_t c = 0; c < next.size(); ++c)
      append(out, ir::Assign{state[c],
                             rest == 0 ? s_.held(next[c]) : in_first(rest, next[c], state[c])});
  }

  ir::Value in_first(int count, int reg, int otherwise) const {
    ir::Value lane;
    lane.op = ir::ValueOp::lane_index;
    lane.dtype = s_.type;
    lane.lanes = s_.width();
    lane.stride = 1;
    return op_value(ir::ValueOp::select,
                    {op_value(ir::ValueOp::less, {std::move(lane), s_.number(count)}), s_.held(reg),
                     s_.held(otherwise)});
  }

  ir::Index place_of(size_t row, int component) const {
    return ir::constant((static_cast<int64_t>(row) * components_ + component) * s_.width());
  }

  // The states of lanes `half` and behind become part of those of the first lanes.
  void emit_merge(int half, ir::Block& out) {
    const int buffer = static_cast<int>(s_.kernel.buffers.size()) - 1;
    for (size_t i = 0; i < rows_.size(); ++i)
      for (int c = 0; c < components_; ++c) {
        ir::Store st;
        st.id = buffer;
        st.index = place_of(i, c);
        st.count = 2 * half;
        st.value = s_.held(rows_[i].state[at(c)]);
        append(out, std::move(st));
      }
    for (size_t i = 0; i < rows_.size(); ++i) {
      std::vector<ir::Value> values;
      for (int c = 0; c < components_; ++c) values.push_back(s_.held(rows_[i].state[at(c)]));
      for (int c = 0; c < components_; ++c) {
        ir::Value v;
        v.op = ir::ValueOp::load;
        v.dtype = s_.type;
        v.lanes = s_.width();
        v.id = buffer;
        v.index = place_of(i, c) + half;
        v.count = half;
        values.push_back(s_.held(assigned("other", std::move(v), out)));
      }
      set(rows_[i].state, combine_, std::move(values), 2 * components_, {}, 0, out);
    }
  }

  void emit_results(ir::Block& out) {
    for (size_t i = 0; i < points_.size(); ++i) {
      const Point& pt = points_[i];
      std::vector<ir::Value> values(at(operands_));
      for (int c = 0; c < components_; ++c) values[at(c)] = s_.held(rows_[i].state[at(c)]);
      for (int r = 0; r < operands_ - components_; ++r) {
        const auto known = rows_[i].fixed.find(components_ + r);
        if (known != rows_[i].fixed.end()) values[at(components_ + r)] = s_.held(known->second);
      }
      const std::vector<ir::Index> where = position(place_, pt.offset);
      for (const ir::Scalar& part : result_.parts) {
        ir::Value value = scalar_value(part, values, where);
        values.push_back(s_.held(assigned("part", std::move(value), out)));
      }
      for (size_t r = 0; r < result_.trees.size(); ++r) {
        const int reg = assigned("result", scalar_value(result_.trees[r], values, where), out);
        ir::Index to = ir::constant(static_cast<int64_t>(r));
        if (shares_) to = std::move(to) + ir::variable(s_.lane, -1);
        store(moved(place_, tuple_.axis, std::move(to)), pt, s_.held(reg), out);
        if (!shares_) continue;
        auto& one = std::get<ir::Store>(out.back().node);
        one.stride = one.count = 1;
      }
    }
  }

  const ir::TupleReduction& tuple_;
  const int components_, operands_, last_;
  const bool shares_;
  const ir::Shared step_, result_;
  ir::Shared combine_;
  std::vector<bool> fixed_;  // per operand of a step, parts included
  std::vector<Row> rows_;
};

}  // namespace

void emit_tuple(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out) {
  TupleBody(s, tile, place).emit(out);
}

}  // namespace assay::lower
