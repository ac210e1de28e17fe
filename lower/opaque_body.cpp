#include "lower/opaque_body.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lower/build.h"

namespace assay::lower {

namespace {

// Is the value a multiple of `n` for all values of its variables, as far as its terms tell?
bool is_multiple(const ir::Index& i, int64_t n) {
  return i.offset % n == 0 && std::all_of(i.terms.begin(), i.terms.end(),
                                          [&](const ir::Term& t) { return t.coeff % n == 0; });
}

void set_type(ir::Value& v, ir::DType t) {
  v.dtype = t;
  for (ir::Value& a : v.args) set_type(a, t);
}

}  // namespace

OpaqueBody::OpaqueBody(Lowering& s, const TileClass& tile, const Place& place)
    : TileBody(s, tile, place),
      product_(*s.product),
      a_{'a', product_.a, product_.instruction.a, product_.m, product_.k},
      b_{'b', product_.b, product_.instruction.b, product_.k, product_.n},
      c_{'c', -1, product_.instruction.c, product_.m, product_.n} {
  points_.clear();
  for (const std::vector<int64_t>& offset : places(tile_, false))
    accumulators_.push_back({offset, -1});
  for (Operand* o : {&a_, &b_, &c_}) choose_layout(*o);
}

// Per axis the distance of unrolled fragments or elements; 0: the axis is of the other kind.
std::vector<int64_t> OpaqueBody::steps(const TileClass& tile, bool reduce) const {
  std::vector<int64_t> out;
  for (int a = 0; a < static_cast<int>(tile.size()); ++a)
    out.push_back(ir::is_reduce(s_.p.graph, s_.anchor, a) == reduce ? fragment_step(product_, a)
                                                                    : 0);
  return out;
}

// Offsets of the tile's fragments along the spatial or the reduced axes.
std::vector<std::vector<int64_t>> OpaqueBody::places(const TileClass& tile, bool reduce) const {
  const std::vector<int64_t> step = steps(tile, reduce);
  std::vector<int64_t> box;
  for (size_t a = 0; a < tile.size(); ++a)
    box.push_back(step[a] == 0 ? 1 : (tile[a] + step[a] - 1) / step[a]);
  std::vector<std::vector<int64_t>> out = offsets_in(box);
  for (std::vector<int64_t>& offset : out)
    for (size_t a = 0; a < offset.size(); ++a) offset[a] *= step[a];
  return out;
}

// The first layout in which whole fragments are found at the tile's place, else the first one.
void OpaqueBody::choose_layout(Operand& o) {
  const std::vector<int64_t> none(tile_.size(), 0);
  for (size_t l = 0; l < o.fragment.memory.size(); ++l) {
    o.layout = static_cast<int>(l);
    o.walks.clear();
    for (size_t p = 0; p < o.fragment.memory[l].layout.dims.size(); ++p)
      o.walks.push_back(s_.new_index(
          "walk" + std::to_string(s_.ranges.size()),
          ir::physical_shape(
              o.fragment.memory[l].layout,
              std::vector<int64_t>{o.fragment.mapping.rows(), o.fragment.mapping.cols()})[p]));
    if (o.read < 0
            ? place_of_result(place_, {none, -1}, TileClass(tile_.size(), 1 << 20)).has_value()
            : place_of_operand(o, place_, none).has_value())
      return;
  }
  if (o.layout > 0) {
    o.layout = 0;
    o.walks.clear();
  }
}

int OpaqueBody::new_fragment(const Operand& o) {
  const int reg = s_.new_register(o.name + std::to_string(s_.kernel.registers.size()),
                                  o.fragment.mapping.workers());
  s_.kernel.registers.back().dtype = o.fragment.number;
  s_.kernel.registers.back().fragment = {0, o.name, o.layout};
  return reg;
}

void OpaqueBody::emit_begin(ir::Block& out) {
  ir::Declare declare;
  for (Accumulator& c : accumulators_) declare.regs.push_back(c.reg = new_fragment(c_));
  for (const Operand* o : {&a_, &b_})
    for (const Accumulator& c : accumulators_) {
      std::vector<int64_t> key{o->read};
      for (size_t a = 0; a < c.offset.size(); ++a)
        key.push_back(reads_axis(s_.p, o->read, static_cast<int>(a)) ? c.offset[a] : 0);
      const auto [at, fresh] = registers_.try_emplace(std::move(key), -1);
      if (fresh) declare.regs.push_back(at->second = new_fragment(*o));
    }
  append(out, std::move(declare));
  for (const Accumulator& c : accumulators_)
    append(out,
           ir::Assign{c.reg, constant_value(0, c_.fragment.mapping.workers(), c_.fragment.number)});
}

int OpaqueBody::loaded_register(const Operand& o, const std::vector<int64_t>& offset) const {
  std::vector<int64_t> key{o.read};
  for (size_t a = 0; a < offset.size(); ++a)
    key.push_back(reads_axis(s_.p, o.read, static_cast<int>(a)) ? offset[a] : 0);
  return registers_.at(key);
}

void OpaqueBody::emit_reduce_point(const Place& place, const TileClass& tile, ir::Block& out) {
  TileClass whole = tile_;  // of the accumulators; the reduction may be at its end
  for (size_t a = 0; a < tile.size(); ++a)
    if (ir::is_reduce(s_.p.graph, s_.anchor, static_cast<int>(a))) whole[a] = tile[a];
  for (const std::vector<int64_t>& step : places(tile, true)) {
    std::vector<int> loaded;
    for (const Accumulator& c : accumulators_) {
      ir::MatrixMultiply m;
      m.instruction = 0;
      for (const auto& [o, regs] : {std::pair{&a_, &m.a}, {&b_, &m.b}}) {
        const int reg = loaded_register(*o, c.offset);
        regs->push_back(reg);
        if (std::find(loaded.begin(), loaded.end(), reg) != loaded.end()) continue;
        loaded.push_back(reg);
        std::vector<int64_t> offset = c.offset;
        for (size_t a = 0; a < offset.size(); ++a) offset[a] += step[a];
        load(*o, place, offset, whole, reg, out);
      }
      m.c = m.d = {c.reg};
      append(out, std::move(m));
    }
  }
}

bool OpaqueBody::is_inside(const Operand& o, const std::vector<int64_t>& offset,
                           const TileClass& tile) const {
  const auto r = static_cast<size_t>(o.row_axis), c = static_cast<size_t>(o.column_axis);
  return offset[r] + o.fragment.mapping.rows() <= tile[r] &&
         offset[c] + o.fragment.mapping.cols() <= tile[c];
}

// Positions of the axes at a fragment's element, which the layout's variables walk.
std::vector<ir::Index> OpaqueBody::first_element(const Operand& o, const Place& place,
                                                 const std::vector<int64_t>& offset) const {
  std::vector<ir::Index> at;
  for (size_t a = 0; a < offset.size(); ++a) at.push_back(place.at[a] + offset[a]);
  const std::vector<ir::PhysicalDim>& dims =
      o.fragment.memory[static_cast<size_t>(o.layout)].layout.dims;
  for (size_t p = 0; p < dims.size(); ++p) {
    ir::Index& to = at[static_cast<size_t>(dims[p].dim == 0 ? o.row_axis : o.column_axis)];
    to = to + ir::variable(o.walks[p], dims[p].div);
  }
  return at;
}

// Where a fragment of which `e` is any element lies as its layout says; nullopt: it does not.
std::optional<OpaqueBody::Memory> OpaqueBody::place_of(const Operand& o, const Element& e) const {
  const ir::Index at =
      ir::simplify(ir::physical_offset(e.layout, e.shape, e.index, s_.ranges), s_.ranges);
  const ir::MatrixInstruction& i = product_.instruction;
  const int bytes = ir::bytes_of(o.fragment.number);
  Memory m{e.buffer, at, 0};
  int64_t dense = 1;
  for (size_t p = o.walks.size(); p-- > 0;) {
    const std::optional<int64_t> stride = ir::stride_of(at, o.walks[p]);
    if (!stride || *stride < 1 || (p > 0 && *stride != dense)) return std::nullopt;
    dense *= s_.ranges[static_cast<size_t>(o.walks[p])].high + 1;
    m.stride = *stride;
  }
  m.index = ir::simplify(ir::substitute(at,
                                        [&](int var) {
                                          const bool own = std::find(o.walks.begin(), o.walks.end(),
                                                                     var) != o.walks.end();
                                          return own ? ir::constant(0) : ir::variable(var);
                                        }),
                         s_.ranges);
  if (m.stride * bytes % i.stride != 0 || !is_multiple(m.index, std::max(1, i.address / bytes)))
    return std::nullopt;
  return m;
}

std::optional<OpaqueBody::Memory> OpaqueBody::place_of_operand(
    const Operand& o, const Place& place, const std::vector<int64_t>& offset) const {
  const ir::Read& r = s_.anchor.reads[static_cast<size_t>(o.read)];
  const Element e = element_of(o.read, place, first_element(o, place, offset));
  if (r.guarded && !s_.staged.contains(o.read)) return std::nullopt;
  return place_of(o, e);
}

std::optional<OpaqueBody::Memory> OpaqueBody::place_of_result(const Place& place,
                                                              const Accumulator& c,
                                                              const TileClass& tile) const {
  const int target = s_.p.graph.outputs[0];
  const ir::Tensor& t = s_.p.graph.tensors[static_cast<size_t>(target)];
  if (s_.p.graph.nodes.size() > 1 || t.dtype != c_.fragment.number ||
      !is_inside(c_, c.offset, tile))
    return std::nullopt;
  std::vector<ir::Index> at = first_element(c_, place, c.offset);
  at.resize(t.shape.size());
  return place_of(c_, {s_.p.layouts[static_cast<size_t>(target)], t.shape, s_.buffer_of.at(target),
                       std::move(at)});
}

// A wave's own part of a buffer for one fragment.
OpaqueBody::Memory OpaqueBody::scratch_of(Operand& o) {
  const int64_t elements = o.fragment.mapping.workers();
  const std::string name = std::string("fragment_") + o.name;
  std::vector<ir::Buffer>& all = s_.kernel.buffers;
  const auto found = std::find_if(all.begin(), all.end(), [&](const ir::Buffer& b) {
    return b.scope == ir::Scope::scratch && b.name == name;
  });
  o.scratch = static_cast<int>(found - all.begin());
  if (found == all.end())
    all.push_back({name, o.fragment.number, elements * s_.kernel.waves, ir::Scope::scratch});
  return {o.scratch, s_.kernel.waves > 1 ? ir::variable(s_.kernel.wave, elements) : ir::constant(0),
          ir::line_elements(o.fragment, o.layout)};
}

// Where an element is in the fragment's scratch.
ir::Index OpaqueBody::in_scratch(const Operand& o, const ir::Index& row,
                                 const ir::Index& column) const {
  const std::vector<int64_t> shape{o.fragment.mapping.rows(), o.fragment.mapping.cols()};
  const std::vector<ir::Index> at{row, column};
  return ir::physical_offset(o.fragment.memory[static_cast<size_t>(o.layout)].layout, shape, at,
                             s_.ranges);
}

void OpaqueBody::load(Operand& o, const Place& place, const std::vector<int64_t>& offset,
                      const TileClass& tile, int reg, ir::Block& out) {
  std::optional<Memory> from;
  if (is_inside(o, offset, tile) && !o.walks.empty()) from = place_of_operand(o, place, offset);
  if (!from) {
    from = scratch_of(o);
    put_together(o, place, offset, tile, out);
  }
  append(out, ir::MoveFragment{false, reg, from->buffer, from->index, from->stride});
}

// Copies a fragment into its scratch, with zeros outside of the tile. Vectors lie along rows, or
// along columns if only those are equidistant in memory and share their guards, else elements are
// copied one by one. Threads have addresses of their own.
void OpaqueBody::put_together(const Operand& o, const Place& place,
                              const std::vector<int64_t>& offset, const TileClass& tile,
                              ir::Block& out) {
  const bool vectors = product_.instruction.registers > 0;
  for (const bool along_rows : {true, false}) {
    ir::Block copy;
    if (!copy_dealt(o, place, offset, tile, along_rows, copy)) continue;
    if (vectors && s_.kernel.vector_lane >= 0) {
      s_.kernel.vector_lane = -1;
      if (along_rows) continue;
      break;
    }
    out.insert(out.end(), copy.begin(), copy.end());
    return;
  }
  ir::Block copy;
  copy_dealt(o, place, offset, tile, true, copy);
  s_.kernel.vector_lane = -1;
  ir::For& steps = std::get<ir::For>(copy[0].node);
  ir::For lanes;
  lanes.limit = s_.width();
  lanes.var = s_.new_index("e" + std::to_string(s_.ranges.size()), lanes.limit);
  for (ir::Stmt& s : steps.body) {
    ir::Store& store = std::get<ir::Store>(s.node);
    store.index = with_lane(store.index, lanes.var) + ir::variable(lanes.var, store.stride);
    store.stride = store.count = 1;
    store.value = of_one_lane(store.value, lanes.var);
    lanes.body.push_back(std::move(s));
  }
  steps.body.clear();
  append(steps.body, std::move(lanes));
  out.insert(out.end(), copy.begin(), copy.end());
}

ir::Index OpaqueBody::with_lane(const ir::Index& index, int lane) const {
  return ir::simplify(
      ir::substitute(index, [&](int var) { return ir::variable(var == s_.lane ? lane : var); }),
      s_.ranges);
}

// What variable `lane` says which lane of a value has.
ir::Value OpaqueBody::of_one_lane(const ir::Value& v, int lane) const {
  using ir::ValueOp;
  ir::Value one = v;
  one.lanes = 1;
  one.index = with_lane(v.index, lane);
  for (ir::Condition& c : one.conditions) c.index = with_lane(c.index, lane);
  for (ir::Value& a : one.args) a = of_one_lane(a, lane);
  if (v.op != ValueOp::load && v.op != ValueOp::gather) return one;
  one.index = one.index + ir::variable(lane, v.op == ValueOp::load ? v.numbers : v.stride);
  one.op = ValueOp::splat;
  one.stride = one.count = 0;
  one.number = 0;
  if (v.count == v.lanes) return one;
  return guard_value({{ir::variable(lane), 0, v.count - 1}}, std::move(one));
}

// False: lanes do not share it evenly in that direction.
bool OpaqueBody::copy_dealt(const Operand& o, const Place& place,
                            const std::vector<int64_t>& offset, const TileClass& tile,
                            bool along_rows, ir::Block& out) {
  const int step = s_.new_index("e" + std::to_string(s_.ranges.size()), 1);
  const auto deal = dealt(o.fragment, s_.width(), along_rows, step, s_.lane);
  if (!deal) return false;
  s_.ranges[static_cast<size_t>(step)].high = deal->steps - 1;
  ir::For loop;
  loop.var = step;
  loop.limit = deal->steps;
  const ir::Index base = s_.kernel.waves > 1
                             ? ir::variable(s_.kernel.wave, o.fragment.mapping.workers())
                             : ir::constant(0);
  for (int64_t v = 0; v < deal->vectors; ++v) {
    const int64_t on = v * s_.width();
    const ir::Index row = deal->row + (along_rows ? 0 : on),
                    column = deal->column + (along_rows ? on : 0);
    const ir::Index to = ir::simplify(base + in_scratch(o, row, column), s_.ranges);
    ir::Store store;
    store.id = o.scratch;
    store.count = s_.width();
    store.value = element(o, place, offset, tile, row, column, loop.body);
    if (const std::optional<LaneAddress> split = split_lane(s_, to)) {
      store.index = split->base;
      store.stride = split->stride;
    } else {
      use_lane(s_);
      store.index = to;
      store.stride = 0;
    }
    if (s_.width() == 1) store.stride = 1;
    append(loop.body, std::move(store));
  }
  append(out, std::move(loop));
  return true;
}

// Elements of a fragment, one of each lane; 0 outside of the tile.
ir::Value OpaqueBody::element(const Operand& o, const Place& place,
                              const std::vector<int64_t>& offset, const TileClass& tile,
                              const ir::Index& row, const ir::Index& column, ir::Block& out) {
  std::vector<ir::Index> at;
  for (size_t a = 0; a < offset.size(); ++a) at.push_back(place.at[a] + offset[a]);
  int64_t count = s_.width();
  std::vector<ir::Condition> conditions;
  const auto along = [&](int axis, const ir::Index& own) {
    const auto a = static_cast<size_t>(axis);
    at[a] = at[a] + own;
    const int64_t left = tile[a] - offset[a];
    if (ir::range_of(own, s_.ranges).high < left) return;
    if (ir::stride_of(own, s_.lane) == 1 && own.terms.size() == 1) {
      count = std::clamp<int64_t>(left - own.offset, 0, count);
      return;
    }
    if (ir::depends_on(own, s_.lane)) use_lane(s_);
    conditions.push_back({own, 0, left - 1});
  };
  along(o.row_axis, row);
  along(o.column_axis, column);
  ir::Value v = constant_value(0, s_.width());
  if (count > 0) v = read_at(o.read, place, at, static_cast<int>(count), out);
  // Of elements that all lanes share, those of some lanes only.
  if (count > 0 && count < s_.width() && v.op != ir::ValueOp::load && v.op != ir::ValueOp::gather) {
    use_lane(s_);
    conditions.push_back({ir::variable(s_.lane), 0, count - 1});
  }
  if (count > 0 && !conditions.empty()) v = guard_value(std::move(conditions), std::move(v));
  set_type(v, o.fragment.number);
  return v;
}

void OpaqueBody::emit_end(const Place& place, const TileClass& tile, ir::Block& out) {
  for (const Accumulator& c : accumulators_) {
    std::optional<Memory> to;
    if (!c_.walks.empty()) to = place_of_result(place, c, tile);
    if (to)
      append(out, ir::MoveFragment{true, c.reg, to->buffer, to->index, to->stride});
    else
      take_apart(place, c, tile, out);
  }
}

// Stores a fragment of c to scratch. Lanes read it there, apply the epilogue and store it.
void OpaqueBody::take_apart(const Place& place, const Accumulator& c, const TileClass& tile,
                            ir::Block& out) {
  const auto m = static_cast<size_t>(c_.row_axis), n = static_cast<size_t>(c_.column_axis);
  const int64_t rows = tile[m] - c.offset[m], columns = tile[n] - c.offset[n];
  for (size_t a = 0; a < tile.size(); ++a)
    if (!ir::is_reduce(s_.p.graph, s_.anchor, static_cast<int>(a)) && c.offset[a] >= tile[a])
      return;
  const Memory scratch = scratch_of(c_);
  append(out, ir::MoveFragment{true, c.reg, scratch.buffer, scratch.index, scratch.stride});
  const int step = s_.new_index("e" + std::to_string(s_.ranges.size()), 1);
  const Dealt deal = *dealt(c_.fragment, s_.width(), true, step, s_.lane);
  s_.ranges[static_cast<size_t>(step)].high = deal.steps - 1;
  const int64_t rows_of_step = c_.fragment.mapping.rows() / deal.steps;
  ir::For loop;
  loop.var = step;
  loop.limit = std::min(deal.steps, (rows + rows_of_step - 1) / rows_of_step);
  for (int64_t v = 0; v < deal.vectors; ++v) {
    const ir::Index column = deal.column + v * s_.width();
    Point pt;
    pt.offset = c.offset;
    pt.lane.assign(tile.size(), ir::constant(0));
    pt.lane[m] = deal.row;
    pt.lane[n] = column;
    pt.count = s_.width();
    if (rows_of_step > 1) {
      if (rows < c_.fragment.mapping.rows()) pt.conditions.push_back({deal.row, 0, rows - 1});
      if (columns < c_.fragment.mapping.cols()) pt.conditions.push_back({column, 0, columns - 1});
      if (!pt.conditions.empty()) use_lane(s_);
    } else {
      pt.count = static_cast<int>(std::clamp<int64_t>(columns - v * s_.width(), 0, s_.width()));
    }
    if (pt.count == 0) continue;
    const ir::Index from =
        ir::simplify(scratch.index + in_scratch(c_, deal.row, column), s_.ranges);
    pt.reg = s_.new_register("r" + std::to_string(s_.kernel.registers.size()), s_.width());
    append(loop.body, ir::Declare{{pt.reg}});
    ir::Value value;
    value.op = s_.width() == 1 ? ir::ValueOp::splat : ir::ValueOp::gather;
    value.dtype = c_.fragment.number;
    value.lanes = s_.width();
    value.count = s_.width() == 1 ? 0 : s_.width();
    value.id = scratch.buffer;
    const std::optional<LaneAddress> split = split_lane(s_, from);
    if (!split) use_lane(s_);
    value.index = split ? split->base : from;
    value.stride = split && s_.width() > 1 ? split->stride : 0;
    if (value.stride == 1) {
      value.op = ir::ValueOp::load;
      value.stride = 0;
    }
    append(loop.body, ir::Assign{pt.reg, std::move(value)});
    points_ = {std::move(pt)};
    TileBody::emit_end(place, tile, loop.body);
  }
  append(out, std::move(loop));
}

}  // namespace assay::lower
