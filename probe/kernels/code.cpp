#include "probe/kernels/code.h"

namespace assay::probe::code {

ir::Index part_of(int var, int64_t div, int64_t mod) {
  ir::Term t;
  t.var = var;
  t.div = div;
  t.mod = mod;
  ir::Index i;
  i.terms.push_back(std::move(t));
  return i;
}

ir::Value number(double v, ir::DType type, int lanes) {
  ir::Value out;
  out.op = ir::ValueOp::constant;
  out.dtype = type;
  out.lanes = lanes;
  out.number = v;
  return out;
}

ir::Value reg(const ir::Kernel& k, int id) {
  const ir::Register& r = k.registers[static_cast<size_t>(id)];
  ir::Value out;
  out.op = ir::ValueOp::reg;
  out.dtype = r.dtype;
  out.lanes = r.lanes;
  out.id = id;
  return out;
}

ir::Value load(int buffer, ir::Index at, ir::DType type, int lanes) {
  ir::Value out;
  out.op = ir::ValueOp::load;
  out.dtype = type;
  out.lanes = out.count = lanes;
  out.id = buffer;
  out.index = std::move(at);
  return out;
}

ir::Value splat(int buffer, ir::Index at, ir::DType type, int lanes) {
  ir::Value out = load(buffer, std::move(at), type, lanes);
  out.op = ir::ValueOp::splat;
  out.count = 0;
  return out;
}

ir::Value gather(int buffer, ir::Index at, ir::DType type, int lanes, int64_t stride) {
  ir::Value out = load(buffer, std::move(at), type, lanes);
  out.op = ir::ValueOp::gather;
  out.stride = stride;
  return out;
}

ir::Value apply(ir::ValueOp op, std::vector<ir::Value> args) {
  ir::Value out;
  out.op = op;
  out.dtype = args.front().dtype;
  out.lanes = args.front().lanes;
  out.args = std::move(args);
  return out;
}

ir::Value opaque(ir::Value v) {
  std::vector<ir::Value> args;
  args.push_back(std::move(v));
  return apply(ir::ValueOp::opaque, std::move(args));
}

ir::Stmt set(int reg, ir::Value v) { return {ir::Assign{reg, std::move(v)}}; }
ir::Stmt keep(int reg) { return {ir::Keep{reg}}; }
ir::Stmt let(int var, ir::Index value) { return {ir::LetIndex{var, std::move(value)}}; }

ir::Stmt store(int buffer, ir::Index at, ir::Value v, ir::CacheHint hint) {
  ir::Store s;
  s.id = buffer;
  s.index = std::move(at);
  s.count = v.lanes;
  s.hint = hint;
  s.value = std::move(v);
  return {std::move(s)};
}

ir::Stmt scatter(int buffer, ir::Index at, ir::Value v, int64_t stride) {
  ir::Stmt s = store(buffer, std::move(at), std::move(v));
  std::get<ir::Store>(s.node).stride = stride;
  return s;
}

ir::Stmt loop(int var, int64_t limit, ir::Index bound, ir::Block body) {
  ir::For f;
  f.var = var;
  f.limit = limit;
  f.bounds.push_back(std::move(bound));
  f.unroll = 1;
  f.body = std::move(body);
  return {std::move(f)};
}

ir::Stmt declare(int first, int count) {
  ir::Declare d;
  for (int i = 0; i < count; ++i) d.regs.push_back(first + i);
  return {std::move(d)};
}

ir::Kernel empty(std::string name) {
  ir::Kernel k;
  k.name = std::move(name);
  k.index_names = {"group"};
  k.groups = kMaxGroups;
  return k;
}

int add_buffer(ir::Kernel& k, std::string name, ir::DType type, bool written) {
  k.buffers.push_back({std::move(name), type, 16, ir::Scope::global, written});
  return static_cast<int>(k.buffers.size()) - 1;
}

int add_parameters(ir::Kernel& k) { return add_buffer(k, "parameters", ir::DType::f32, false); }

int parameter(ir::Kernel& k, std::string name, int buffer, ir::Index n, int64_t limit) {
  const int var = add_index(k, std::move(name));
  k.body.push_back({ir::Locate{var, buffer, std::move(n), limit + 1}});
  return var;
}

int add_register(ir::Kernel& k, std::string name, ir::DType type, int lanes) {
  k.registers.push_back({std::move(name), type, lanes});
  return static_cast<int>(k.registers.size()) - 1;
}

int add_index(ir::Kernel& k, std::string name) {
  k.index_names.push_back(std::move(name));
  return static_cast<int>(k.index_names.size()) - 1;
}

void counted_loop(ir::Kernel& k, ir::Block body) {
  const int count = parameter(k, "count", add_parameters(k), ir::constant(0), kMaxIterations);
  const int i = add_index(k, "i");
  k.body.push_back(loop(i, kMaxIterations, ir::variable(count), std::move(body)));
}

ir::Stmt fill(ir::Kernel& k, int own, int from, int lanes) {
  const ir::Buffer b = k.buffers[static_cast<size_t>(own)];
  const int i = add_index(k, "filled");
  const int64_t steps = b.elements / lanes;
  return loop(
      i, steps, ir::constant(steps),
      {store(own, ir::variable(i, lanes), load(from, ir::variable(i, lanes), b.dtype, lanes))});
}

void repeat(ir::Block& block, int times, const ir::Block& parts) {
  for (int i = 0; i < times; ++i) block.insert(block.end(), parts.begin(), parts.end());
}

}  // namespace assay::probe::code
