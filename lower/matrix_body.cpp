#include "lower/matrix_body.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "ir/element.h"
#include "lower/build.h"
#include "lower/fragment_runs.h"

namespace assay::lower {

namespace {

// The load of a value that may have guards around it.
ir::Value& leaf(ir::Value& v) { return v.op == ir::ValueOp::guard ? leaf(v.args[0]) : v; }

// What guards give instead of a load: of bytes that all lie in one register, repeated. False: it is
// no number that repeats so.
bool repeat_fill(ir::Value& v, ir::DType number, int n) {
  if (v.op != ir::ValueOp::guard) return true;
  ir::Value& fill = v.args[1];
  if (fill.number != 0) {
    if (fill.op != ir::ValueOp::constant || ir::bytes_of(number) != 1 || n != 4) return false;
    const uint32_t byte = ir::pack(number, 0, 0, fill.number);
    fill.number = static_cast<double>(static_cast<int32_t>(byte * 0x01010101U));
  }
  return repeat_fill(v.args[0], number, n);
}

void set_type(ir::Value& v, ir::DType t) {
  v.dtype = t;
  for (ir::Value& a : v.args) set_type(a, t);
}

// Several numbers of each lane as one load: values of neighbours, under equal guards. False: they
// are none.
bool join(const std::vector<ir::Value>& numbers, ir::DType packed, ir::Value& out) {
  const auto n = static_cast<int>(numbers.size());
  out = numbers[0];
  ir::Value& first = leaf(out);
  const bool gathers =
      first.op == ir::ValueOp::gather && (first.stride == 0 || std::abs(first.stride) >= n);
  if (first.op != ir::ValueOp::splat && !gathers) return false;
  for (int i = 1; i < n; ++i) {
    ir::Value other = numbers[static_cast<size_t>(i)];
    ir::Index& at = leaf(other).index;
    at = at + -i;
    if (other != out) return false;
  }
  if (!repeat_fill(out, numbers[0].dtype, n)) return false;
  first.numbers = n;
  if (gathers && first.stride == n) {
    first.op = ir::ValueOp::load;
    first.stride = 0;
  }
  set_type(out, packed);
  return true;
}

}  // namespace

MatrixBody::MatrixBody(Lowering& s, const TileClass& tile, const Place& place)
    : TileBody(s, tile, place),
      product_(*s.product),
      a_(held_in(product_.instruction.a)),
      b_(held_in(product_.instruction.b)),
      c_(held_in(product_.instruction.c)) {
  points_.clear();
  std::vector<int64_t> box;
  const std::vector<int64_t> step = steps(tile_, false);
  for (size_t a = 0; a < tile_.size(); ++a)
    box.push_back(step[a] == 0 ? 1 : (tile_[a] + step[a] - 1) / step[a]);
  for (std::vector<int64_t> offset : offsets_in(box)) {
    for (size_t a = 0; a < offset.size(); ++a) offset[a] *= step[a];
    Accumulator all{offset, {}};
    for (const Held& h : c_) {
      Point pt;
      pt.offset = offset;
      pt.row = static_cast<int>(&h - c_.data());
      pt.lane.assign(tile_.size(), ir::constant(0));
      if (product_.m >= 0) pt.lane[static_cast<size_t>(product_.m)] = h.task.row;
      pt.lane[static_cast<size_t>(product_.n)] = h.task.column;
      all.points.push_back(static_cast<int>(points_.size()));
      points_.push_back(std::move(pt));
    }
    accumulators_.push_back(std::move(all));
  }
  if (product_.instruction.m == 1) order_accumulators();
}

// Per axis the distance of unrolled fragments or elements; 0: the axis is of the other kind.
std::vector<int64_t> MatrixBody::steps(const TileClass& tile, bool reduce) const {
  std::vector<int64_t> out;
  for (int a = 0; a < static_cast<int>(tile.size()); ++a)
    out.push_back(ir::is_reduce(s_.p.graph, s_.anchor, a) == reduce ? fragment_step(product_, a)
                                                                    : 0);
  return out;
}

void MatrixBody::emit_begin(ir::Block& out) {
  ir::Declare declare;
  const ir::DType type = product_.instruction.c.element;
  for (size_t i = 0; i < points_.size(); ++i) {
    points_[i].reg = s_.new_register(
        "acc" + std::to_string(i) + "_" + std::to_string(s_.kernel.registers.size()), s_.width());
    s_.kernel.registers.back().dtype = type;
    declare.regs.push_back(points_[i].reg);
  }
  append(out, std::move(declare));
  ir::Value zero = constant_value(0, s_.width());
  zero.dtype = type;
  for (const Point& pt : points_) append(out, ir::Assign{pt.reg, zero});
}

std::vector<MatrixBody::Held> MatrixBody::held_in(const ir::Fragment& f) const {
  std::vector<Held> out;
  for (int item = 0; item < f.mapping.items(); ++item) {
    Held h{lane_task(f.mapping, ir::variable(s_.lane), item, s_.ranges), {}, {}};
    for (int lane = 0; lane < s_.width(); ++lane) {
      const ir::Task t = f.mapping.task(lane, item);
      h.rows.push_back(t.row);
      h.columns.push_back(t.col);
    }
    out.push_back(std::move(h));
  }
  return out;
}

MatrixBody::Inside MatrixBody::all_inside() const {
  return {s_.width(), {}, std::vector<bool>(static_cast<size_t>(s_.width()), true)};
}

// Which lanes have an element below `extent`. `at`: an expression of the lane alone, of which
// `lanes` are the values; both begin at `offset`.
void MatrixBody::limit(const ir::Index& at, const std::vector<int64_t>& lanes, int64_t offset,
                       int64_t extent, Inside& to) const {
  bool all = true;
  for (size_t l = 0; l < lanes.size(); ++l) {
    const bool is = lanes[l] + offset < extent;
    all = all && is;
    to.lanes[l] = to.lanes[l] && is;
  }
  if (all) return;
  if (ir::stride_of(at, s_.lane) == 1)
    to.count = static_cast<int>(std::clamp<int64_t>(extent - at.offset - offset, 0, to.count));
  else
    to.conditions.push_back({at + offset, 0, extent - 1});
}

TileBody::Point MatrixBody::inside(Point pt, const TileClass& tile) const {
  Inside in = all_inside();
  const Held& held = c_[static_cast<size_t>(pt.row)];
  const std::vector<int64_t> none(in.lanes.size(), 0);
  for (int a = 0; a < ir::spatial_count(s_.p.graph, s_.anchor); ++a)
    limit(pt.lane[static_cast<size_t>(a)],
          a == product_.m   ? held.rows
          : a == product_.n ? held.columns
                            : none,
          pt.offset[static_cast<size_t>(a)], tile[static_cast<size_t>(a)], in);
  const bool outside = std::none_of(in.lanes.begin(), in.lanes.end(), [](bool b) { return b; });
  pt.count = outside ? 0 : in.count;
  pt.conditions = std::move(in.conditions);
  if (!outside && !pt.conditions.empty()) use_lane(s_);
  return pt;
}

// Number `item` of every lane, converted to nothing; `in`: the lanes that have it.
ir::Value MatrixBody::number(const Operand& o, const Place& place,
                             const std::vector<int64_t>& offset, const TileClass& tile, int item,
                             Inside& in, ir::Block& out) {
  in = all_inside();
  const Held& held = o.held[static_cast<size_t>(item)];
  std::vector<ir::Index> at;
  for (size_t a = 0; a < offset.size(); ++a) at.push_back(place.at[a] + offset[a]);
  const auto along = [&](int axis, const ir::Index& own, const std::vector<int64_t>& lanes) {
    if (axis < 0) return;
    const auto i = static_cast<size_t>(axis);
    at[i] = at[i] + own;
    limit(own, lanes, offset[i], tile[i], in);
  };
  along(o.row_axis, held.task.row, held.rows);
  along(o.column_axis, held.task.column, held.columns);
  if (in.count == 0 || std::none_of(in.lanes.begin(), in.lanes.end(), [](bool b) { return b; }))
    return constant_value(0, s_.width());
  ir::Value v = read_at(o.read, place, at, in.count, out);
  if (in.conditions.empty()) return v;
  use_lane(s_);
  return guard_value(in.conditions, std::move(v));
}

ir::Value MatrixBody::register_value(const Operand& o, const Place& place,
                                     const std::vector<int64_t>& offset, const TileClass& tile,
                                     int reg, ir::Block& out) {
  const int per = o.fragment.per_register();
  std::vector<ir::Value> numbers;
  std::vector<Inside> in(static_cast<size_t>(per));
  bool alike = true;
  for (int i = 0; i < per; ++i) {
    const auto place_of = static_cast<size_t>(i);
    numbers.push_back(number(o, place, offset, tile, reg * per + i, in[place_of], out));
    set_type(numbers.back(), o.fragment.number);
    alike = alike && in[place_of].lanes == in[0].lanes;
  }
  if (per == 1) return std::move(numbers[0]);
  ir::Value packed = constant_value(0, s_.width());
  packed.dtype = o.fragment.element;
  if (alike) {
    // The same lanes, whichever number's conditions say it.
    std::vector<ir::Value> plain = numbers;
    if (!in[0].conditions.empty())
      for (int i = 1; i < per; ++i) plain[static_cast<size_t>(i)].conditions = plain[0].conditions;
    if (join(plain, o.fragment.element, packed)) return packed;
    packed = constant_value(0, s_.width());
    packed.dtype = o.fragment.element;
  }
  for (int i = 0; i < per; ++i) {
    ir::Value& v = numbers[static_cast<size_t>(i)];
    if (v.op == ir::ValueOp::constant && v.number == 0) continue;
    ir::Value more;
    more.op = ir::ValueOp::insert;
    more.dtype = o.fragment.element;
    more.lanes = s_.width();
    more.number = i;
    more.args = {std::move(packed), std::move(v)};
    packed = std::move(more);
  }
  return packed;
}

std::vector<int64_t> MatrixBody::key_of(int read, const std::vector<int64_t>& offset) const {
  std::vector<int64_t> key{read};
  for (size_t a = 0; a < offset.size(); ++a)
    key.push_back(reads_axis(s_.p, read, static_cast<int>(a)) ? offset[a] : 0);
  return key;
}

// The operand with fewer fragments stays in registers, and those of the other follow each other, so
// that few are alive at once.
void MatrixBody::order_accumulators() {
  const auto fragments = [&](int read) {
    std::set<std::vector<int64_t>> out;
    for (const Accumulator& c : accumulators_) out.insert(key_of(read, c.offset));
    return out.size();
  };
  const int streamed = fragments(product_.a) > fragments(product_.b) ? product_.a : product_.b;
  std::stable_sort(accumulators_.begin(), accumulators_.end(),
                   [&](const Accumulator& x, const Accumulator& y) {
                     return key_of(streamed, x.offset) < key_of(streamed, y.offset);
                   });
}

// False: the operand has no such runs, or part of the fragment lies outside of the tile.
bool MatrixBody::load_in_runs(const Operand& o, const Place& place,
                              const std::vector<int64_t>& offset, const TileClass& tile,
                              std::vector<int>& regs, ir::Block& out) {
  const std::optional<bool> by_row = runs_by_row(s_.p, product_, o.read);
  if (!by_row) return false;
  std::vector<ir::Index> at;
  for (size_t a = 0; a < offset.size(); ++a) at.push_back(place.at[a] + offset[a]);
  const ir::TaskMapping& runs = *by_row ? o.fragment.by_row : o.fragment.by_column;
  const LaneTask task = lane_task(runs, ir::variable(s_.lane), 0, s_.ranges);
  const int n = ir::run_elements(o.fragment, *by_row);
  for (const auto& [axis, own] : {std::pair{o.row_axis, task.row * (*by_row ? 1 : n)},
                                  {o.column_axis, task.column * (*by_row ? n : 1)}}) {
    const auto a = static_cast<size_t>(axis);
    if (offset[a] + fragment_step(product_, axis) > tile[a]) return false;
    at[a] = at[a] + own;
  }
  use_lane(s_);
  const Element e = element_of(o.read, place, at);
  ir::LoadFragment load{0,        o.read == product_.a ? 'a' : 'b',
                        *by_row,  {},
                        e.buffer, ir::physical_offset(e.layout, e.shape, e.index, s_.ranges)};
  for (int r = 0; r < o.fragment.registers(); ++r) {
    regs.push_back(s_.new_register(
        (load.operand == 'a' ? "a" : "b") + std::to_string(s_.kernel.registers.size()),
        s_.width()));
    s_.kernel.registers.back().dtype = o.fragment.element;
  }
  load.regs = regs;
  append(out, ir::Declare{regs});
  append(out, std::move(load));
  return true;
}

const std::vector<int>& MatrixBody::fragment(const Operand& o, const Place& place,
                                             const std::vector<int64_t>& offset,
                                             const TileClass& tile, ir::Block& out) {
  const auto [found, fresh] = loaded_.try_emplace(key_of(o.read, offset));
  if (!fresh) return found->second;
  if (load_in_runs(o, place, offset, tile, found->second, out)) return found->second;
  for (int r = 0; r < o.fragment.registers(); ++r) {
    ir::Value v = register_value(o, place, offset, tile, r, out);
    const int reg = s_.new_register(
        (o.read == product_.a ? "a" : "b") + std::to_string(s_.kernel.registers.size()),
        s_.width());
    s_.kernel.registers.back().dtype = o.fragment.element;
    append(out, ir::Declare{{reg}});
    append(out, ir::Assign{reg, std::move(v)});
    found->second.push_back(reg);
  }
  return found->second;
}

void MatrixBody::emit_reduce_point(const Place& place, const TileClass& tile, ir::Block& out) {
  const MatrixProduct& p = product_;
  const Operand a{p.a, p.instruction.a, p.m, p.k, a_}, b{p.b, p.instruction.b, p.k, p.n, b_};
  TileClass whole = tile_;  // of the accumulators; the reduction may be at its end
  const std::vector<int64_t> step = steps(tile, true);
  std::vector<int64_t> box;
  for (size_t i = 0; i < tile.size(); ++i) {
    if (step[i] > 0) whole[i] = tile[i];
    box.push_back(step[i] == 0 ? 1 : (tile[i] + step[i] - 1) / step[i]);
  }
  const bool threads = p.instruction.m > 1;
  for (std::vector<int64_t> at : offsets_in(box)) {
    loaded_.clear();
    const auto offset_of = [&](const Accumulator& c) {
      std::vector<int64_t> offset = c.offset;
      for (size_t i = 0; i < offset.size(); ++i) offset[i] += at[i] * step[i];
      return offset;
    };
    // Threads wait at the first use of a loaded value, so all loads come first.
    if (threads)
      for (const Accumulator& c : accumulators_) {
        fragment(a, place, offset_of(c), whole, out);
        fragment(b, place, offset_of(c), whole, out);
      }
    for (const Accumulator& c : accumulators_) {
      ir::MatrixMultiply m;
      m.instruction = 0;
      m.a = fragment(a, place, offset_of(c), whole, out);
      m.b = fragment(b, place, offset_of(c), whole, out);
      for (const int pt : c.points) m.c.push_back(points_[static_cast<size_t>(pt)].reg);
      m.d = m.c;
      append(out, std::move(m));
    }
  }
}

}  // namespace assay::lower
