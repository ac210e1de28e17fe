#include "codegen/one_lane.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace assay::codegen {
namespace {

using ir::Value;
using ir::ValueOp;

struct Splitter {
  const ir::Kernel& kernel;
  const int width;
  ir::Kernel out{};
  std::vector<std::vector<int>> pieces_of{};  // per register: the registers it became
  std::set<int> unsupported{};

  int pieces(int lanes);
  void split_registers();
  ir::Condition lane_below(int count) const { return {ir::variable(out.lane), 0, count - 1}; }
  ir::Index lane(int piece, int64_t stride) const { return ir::variable(out.lane, stride) + piece * width * stride; }
  Value element(const Value& v, const ir::Index& index, int piece) const;
  Value value(const Value& v, int piece) const;
  bool is_copy(const ir::Block& b) const;
  bool is_copy(const ir::Stmt& s) const;
  ir::Block block(const ir::Block& b);

  void add(ir::Block& to, const ir::For& s);
  void add(ir::Block& to, const ir::If& s);
  void add(ir::Block& to, const ir::LetIndex& s) { to.push_back({s}); }
  void add(ir::Block& to, const ir::Locate& s) { to.push_back({s}); }
  void add(ir::Block& to, const ir::Assign& s);
  void add(ir::Block& to, const ir::Declare& s);
  void add(ir::Block& to, const ir::Store& s);
  void add(ir::Block& to, const ir::Prefetch& s) { to.push_back({s}); }
  void add(ir::Block& to, const ir::Keep& s);
  void add(ir::Block& to, const ir::Barrier& s) { to.push_back({s}); }
};

// Values that one thread has of so many lanes.
int Splitter::pieces(int lanes) {
  if (lanes != 1 && lanes % width != 0) unsupported.insert(lanes);
  return std::max(1, lanes / width);
}

void Splitter::split_registers() {
  out.registers.clear();
  for (const ir::Register& r : kernel.registers) {
    std::vector<int> ids;
    for (int p = 0; p < pieces(r.lanes); ++p) {
      ids.push_back(static_cast<int>(out.registers.size()));
      out.registers.push_back({pieces(r.lanes) == 1 ? r.name : fmt::format("{}_{}", r.name, p), r.dtype, 1});
    }
    pieces_of.push_back(std::move(ids));
  }
}

Value scalar(ValueOp op, ir::DType dtype) {
  Value v;
  v.op = op;
  v.dtype = dtype;
  return v;
}

// A load of this thread's element; beyond the lanes that are read it has the number that stands for them.
Value Splitter::element(const Value& v, const ir::Index& index, int piece) const {
  Value number = scalar(ValueOp::constant, v.dtype);
  number.number = v.number;
  const int count = v.op == ValueOp::splat || v.lanes == 1 ? width : std::clamp(v.count - piece * width, 0, width);
  if (count == 0) return number;
  Value load = scalar(ValueOp::load, v.dtype);
  load.id = v.id;
  load.index = index;
  load.count = 1;
  if (count == width) return load;
  Value guard = scalar(ValueOp::guard, v.dtype);
  guard.conditions.push_back(lane_below(count));
  guard.args = {std::move(load), std::move(number)};
  return guard;
}

Value Splitter::value(const Value& v, int piece) const {
  const bool vector = v.lanes > 1;
  switch (v.op) {
    case ValueOp::load:
      return element(v, vector ? v.index + lane(piece, 1) : v.index, piece);
    case ValueOp::gather:
      return element(v, vector ? v.index + lane(piece, v.stride) : v.index, piece);
    case ValueOp::splat:
      return element(v, v.index, piece);
    default:
      break;
  }
  Value one = v;
  one.lanes = 1;
  one.args.clear();
  for (const Value& a : v.args) one.args.push_back(value(a, piece));
  if (v.op == ValueOp::reg) one.id = pieces_of[static_cast<size_t>(v.id)][static_cast<size_t>(piece)];
  if (v.op == ValueOp::lane_index && vector) {
    one.index = v.index + lane(piece, v.stride);
    one.stride = 0;
  }
  return one;
}

bool Splitter::is_copy(const ir::Block& b) const {
  return std::all_of(b.begin(), b.end(), [&](const ir::Stmt& s) { return is_copy(s); });
}

// Stores into scratch, and nothing else.
bool Splitter::is_copy(const ir::Stmt& s) const {
  if (const auto* store = std::get_if<ir::Store>(&s.node))
    return kernel.buffers[static_cast<size_t>(store->id)].scope == ir::Scope::scratch;
  if (const auto* loop = std::get_if<ir::For>(&s.node)) return is_copy(loop->body);
  if (const auto* branch = std::get_if<ir::If>(&s.node)) return is_copy(branch->then_body) && is_copy(branch->else_body);
  return false;
}

// Conditions and bounds hold the group and loops, never the lane: all threads meet at every barrier.
ir::Block Splitter::block(const ir::Block& b) {
  ir::Block to;
  bool copying = false;
  for (const ir::Stmt& s : b) {
    if (is_copy(s) != copying) to.push_back({ir::Barrier{}});
    copying = is_copy(s);
    std::visit([&](const auto& node) { add(to, node); }, s.node);
  }
  if (copying) to.push_back({ir::Barrier{}});
  return to;
}

void Splitter::add(ir::Block& to, const ir::For& s) {
  // Inside a copy there is nobody to wait for.
  const bool copy = is_copy(s.body);
  ir::For loop{s.var, s.limit, s.bounds, s.unroll, {}};
  if (!copy) loop.body = block(s.body);
  for (const ir::Stmt& inner : s.body)
    if (copy) std::visit([&](const auto& node) { add(loop.body, node); }, inner.node);
  to.push_back({std::move(loop)});
}

void Splitter::add(ir::Block& to, const ir::If& s) {
  ir::If branch{s.conditions, {}, {}};
  const bool copy = is_copy(s.then_body) && is_copy(s.else_body);
  for (const auto& [from, into] : {std::pair{&s.then_body, &branch.then_body}, std::pair{&s.else_body, &branch.else_body}}) {
    if (!copy) *into = block(*from);
    for (const ir::Stmt& inner : *from)
      if (copy) std::visit([&](const auto& node) { add(*into, node); }, inner.node);
  }
  to.push_back({std::move(branch)});
}

void Splitter::add(ir::Block& to, const ir::Assign& s) {
  const auto& registers = pieces_of[static_cast<size_t>(s.reg)];
  for (size_t p = 0; p < registers.size(); ++p) to.push_back({ir::Assign{registers[p], value(s.value, static_cast<int>(p))}});
}

void Splitter::add(ir::Block& to, const ir::Declare& s) {
  ir::Declare d;
  for (const int id : s.regs)
    d.regs.insert(d.regs.end(), pieces_of[static_cast<size_t>(id)].begin(), pieces_of[static_cast<size_t>(id)].end());
  to.push_back({std::move(d)});
}

void Splitter::add(ir::Block& to, const ir::Store& s) {
  const bool vector = s.value.lanes > 1;
  for (int p = 0; p < pieces(s.value.lanes); ++p) {
    const int count = vector ? std::clamp(s.count - p * width, 0, width) : 1;
    if (count == 0) continue;
    ir::Store one = s;
    one.index = vector ? s.index + lane(p, s.stride) : s.index;
    one.stride = one.count = 1;
    one.value = value(s.value, p);
    if (count == width) {
      to.push_back({std::move(one)});
      continue;
    }
    ir::If some{{lane_below(count)}, {}, {}};
    some.then_body.push_back({std::move(one)});
    to.push_back({std::move(some)});
  }
}

void Splitter::add(ir::Block& to, const ir::Keep& s) {
  for (const int id : pieces_of[static_cast<size_t>(s.reg)]) to.push_back({ir::Keep{id}});
}

}  // namespace

Result<ir::Kernel> one_lane(const ir::Kernel& kernel, int width) {
  Splitter s{kernel, width};
  s.out = kernel;
  s.out.lane = static_cast<int>(s.out.index_names.size());
  s.out.index_names.emplace_back("lane");
  s.split_registers();
  s.out.body = s.block(kernel.body);
  if (s.unsupported.empty()) return std::move(s.out);
  Diags diags;
  for (const int lanes : s.unsupported)
    diags.push_back(error(fmt::format("kernel '{}': vectors of {} elements can not be dealt to {} threads", kernel.name, lanes, width),
                          fmt::format("vectors of a multiple of {}", width)));
  return diags;
}

}  // namespace assay::codegen
