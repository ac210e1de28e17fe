// Opaque fragments in scratch: those of a and b are packed there, and those of c unpacked.
#include <algorithm>
#include <string>
#include <utility>

#include "lower/build.h"
#include "lower/opaque_body.h"

namespace assay::lower {

namespace {

void set_type(ir::Value& v, ir::DType t) {
  v.dtype = t;
  for (ir::Value& a : v.args) set_type(a, t);
}

}  // namespace

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

// One element of each lane of what was stored to the scratch of c.
ir::Value OpaqueBody::taken_apart(const ir::Index& from) const {
  ir::Value v;
  v.dtype = c_.fragment.number;
  v.lanes = s_.width();
  v.id = c_.scratch;
  const std::optional<LaneAddress> split = split_lane(s_, from);
  if (!split) use_lane(s_);
  v.index = split ? split->base : from;
  if (s_.width() == 1) {
    v.op = ir::ValueOp::splat;
    return v;
  }
  v.count = s_.width();
  v.stride = split ? split->stride : 0;
  v.op = v.stride == 1 ? ir::ValueOp::load : ir::ValueOp::gather;
  if (v.stride == 1) v.stride = 0;
  return v;
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
    ir::Value value =
        taken_apart(ir::simplify(scratch.index + in_scratch(c_, deal.row, column), s_.ranges));
    pt.reg = s_.new_register("r" + std::to_string(s_.kernel.registers.size()), s_.width());
    append(loop.body, ir::Declare{{pt.reg}});
    append(loop.body, ir::Assign{pt.reg, std::move(value)});
    points_ = {std::move(pt)};
    TileBody::emit_end(place, tile, loop.body);
  }
  append(out, std::move(loop));
}

}  // namespace assay::lower
