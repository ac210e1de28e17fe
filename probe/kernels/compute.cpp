// Kernels of arithmetic: sentinel, chains of operations, mixes, nothing.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

using ir::DType;
using ir::ValueOp;

// x += y, so many times.
ir::Block additions(const ir::Kernel& k, int x, int y, int steps) {
  ir::Block body;
  code::repeat(
      body, steps,
      {code::set(x, code::opaque(code::apply(ValueOp::add, {code::reg(k, x), code::reg(k, y)})))});
  return body;
}

int add_chain_registers(ir::Kernel& k) {
  const int x = code::add_register(k, "x", DType::i64, 1);
  const int y = code::add_register(k, "y", DType::i64, 1);
  k.body.push_back(code::declare(x, 2));
  for (const int r : {x, y})
    k.body.push_back(code::set(r, code::opaque(code::number(3, DType::i64, 1))));
  return x;
}

ir::Kernel sentinel() {
  ir::Kernel k = code::empty("sentinel");
  const int x = add_chain_registers(k);
  code::counted_loop(k, additions(k, x, x + 1, kSentinelSteps));
  k.body.push_back(code::keep(x));
  return k;
}

// The sentinel in a group that allocates the whole scratchpad and uses its last element.
ir::Kernel alone(int64_t group_bytes) {
  ir::Kernel k = code::empty("alone");
  const int out = code::add_buffer(k, "out", DType::f32, true);
  const int x = add_chain_registers(k);
  const int seen = code::add_register(k, "seen", DType::f32, 1);
  code::counted_loop(k, additions(k, x, x + 1, kSentinelSteps));
  const int own = code::add_buffer(k, "own", DType::f32, false);
  ir::Buffer& all = k.buffers[static_cast<size_t>(own)];
  all.scope = ir::Scope::scratch;
  all.elements = std::max<int64_t>(1, group_bytes / 4);
  const ir::Index last = ir::constant(all.elements + -1);
  k.body.push_back(code::store(own, last, code::load(out, ir::constant(0), DType::f32, 1)));
  k.body.push_back(code::declare(seen, 1));
  k.body.push_back(code::set(seen, code::load(own, last, DType::f32, 1)));
  k.body.push_back(code::keep(seen));
  k.body.push_back(code::keep(x));
  return k;
}

// One vector operation after every kTickSpacing additions: a load, but not on the ports that the
// chain needs.
constexpr int kTickSpacing = 8, kTickAccumulators = 8;

ir::Kernel tick(const std::string& load, int lanes) {
  ir::Kernel k = code::empty(tick_name(load, lanes));
  const int data = code::add_buffer(k, "data", DType::f32, true);
  const int x = add_chain_registers(k);
  const int a = code::add_register(k, "a", DType::f32, lanes);
  for (int i = 0; i < kTickAccumulators; ++i)
    code::add_register(k, fmt::format("acc{}", i), DType::f32, lanes);
  k.body.push_back(code::declare(a, kTickAccumulators + 1));
  const ir::Value one = code::opaque(code::number(1, DType::f32, lanes));
  for (int i = 0; i <= kTickAccumulators; ++i) k.body.push_back(code::set(a + i, one));
  const int iteration = 2;  // index variables: group, count, i
  ir::Block body;
  int next = 0;
  for (ir::Stmt& step : additions(k, x, x + 1, kTickSteps)) {
    body.push_back(std::move(step));
    if (++next % kTickSpacing != 0) continue;
    const int at = next / kTickSpacing, acc = a + 1 + at % kTickAccumulators;
    const ir::Index place =
        code::part_of(iteration, 1, 8) * (int64_t{kTickSteps} * lanes) + int64_t{at} * lanes;
    if (load == "write")
      body.push_back(code::store(data, place, code::reg(k, a)));
    else if (load == "read")
      body.push_back(code::set(acc, code::load(data, place, DType::f32, lanes)));
    else
      body.push_back(code::set(
          acc, code::apply(ValueOp::fma, {code::reg(k, acc), code::reg(k, a), code::reg(k, a)})));
    if (load == "read") body.push_back(code::keep(acc));
  }
  code::counted_loop(k, std::move(body));
  for (int i = 0; i <= kTickAccumulators; ++i) k.body.push_back(code::keep(a + i));
  k.body.push_back(code::keep(x));
  return k;
}

// One instruction, so that the compiler does not remove the group.
ir::Kernel nothing() {
  ir::Kernel k = code::empty("nothing");
  const int x = code::add_register(k, "x", DType::i64, 1);
  k.body.push_back(code::declare(x, 1));
  k.body.push_back(code::set(x, code::opaque(code::number(0, DType::i64, 1))));
  k.body.push_back(code::keep(x));
  return k;
}

// One step of a chain: acc = op(acc, a).
ir::Value step_of(const ir::Kernel& k, const std::string& op, int acc, int a) {
  const ir::Value x = code::reg(k, acc), y = code::reg(k, a);
  if (op == "fma") return code::apply(ValueOp::fma, {x, y, y});
  if (op == "add") return code::apply(ValueOp::add, {x, y});
  if (op == "mul") return code::apply(ValueOp::mul, {x, y});
  if (op == "max") return code::apply(ValueOp::max, {x, y});
  if (op == "div") return code::apply(ValueOp::div, {x, y});
  if (op == "sqrt") return code::apply(ValueOp::sqrt, {x});
  return code::apply(ValueOp::exp, {code::apply(ValueOp::neg, {x})});  // exp: converges to 0.567
}

// `fma` and `add` count their steps in the accumulator; the others stay near 1, without denormals.
double operand_of(const std::string& op) { return op == "mul" || op == "div" ? 1.0 + 1e-7 : 1.0; }

// Chains of a pair alternate.
std::string nth_of(const std::string& op, int chain) {
  const size_t plus = op.find('+');
  if (plus == std::string::npos) return op;
  return chain % 2 == 0 ? op.substr(0, plus) : op.substr(plus + 1);
}

ir::Kernel chains(const std::string& op, int lanes, int count, bool threads) {
  ir::Kernel k = code::empty(op_name(op, lanes, count));
  const int out = code::add_buffer(k, "out", DType::f32, true);
  // Of max(max(x, a), a) one is enough.
  const int operands = op.find("max") == std::string::npos ? 1 : 2;
  const int a = code::add_register(k, "a", DType::f32, lanes);
  if (operands == 2) code::add_register(k, "b", DType::f32, lanes);
  const int first = a + operands;
  for (int c = 0; c < count; ++c) code::add_register(k, fmt::format("acc{}", c), DType::f32, lanes);
  k.body.push_back(code::declare(a, operands + count));
  for (int i = 0; i < operands; ++i)
    k.body.push_back(
        code::set(a + i, code::opaque(code::number(operand_of(op) + i, DType::f32, lanes))));
  const double start = op == "fma" || op == "add" ? 0.0 : 1.5;
  for (int c = 0; c < count; ++c)
    k.body.push_back(
        code::set(first + c, code::opaque(code::number(start + c, DType::f32, lanes))));
  ir::Block body;
  for (int n = 0; n < op_steps(op, count, threads) / count; ++n)
    for (int c = 0; c < count; ++c)
      body.push_back(code::set(first + c, step_of(k, nth_of(op, c), first + c, a + n % operands)));
  code::counted_loop(k, std::move(body));
  for (int c = 1; c < count; ++c) k.body.push_back(code::keep(first + c));
  k.body.push_back(code::store(out, ir::variable(0, kSlotFloats), code::reg(k, first)));
  return k;
}

// Approximate steps of an iteration. A loop takes issue slots, which waves of simple operations do
// not have to spare.
constexpr int kChainSteps = 96, kSimpleSteps = 384;
constexpr int kIntegerChains = 9;
constexpr int kMixLanes = 8;  // of vectors: every core has them

void add_mix_rounds(ir::Kernel& k, const MixKind& mix, int value, int first_acc, int first_int,
                    ir::Block& body) {
  const int width = k.registers[static_cast<size_t>(value)].lanes;
  int next_fma = 0, next_int = 0;
  for (int r = 0; r < kMixRounds; ++r) {
    for (int l = 0; l < mix.loads; ++l) {
      const int64_t at = r * (kBlockBytes / 4 / kMixRounds) + l * width;
      body.push_back(code::set(
          value, code::load(0, ir::variable(4, kBlockBytes / 4) + at, DType::f32, width)));
      body.push_back(code::keep(value));
    }
    for (int f = 0; f < mix.fmas; ++f, next_fma = (next_fma + 1) % 8) {
      const ir::Value acc = code::reg(k, first_acc + 1 + next_fma), a = code::reg(k, first_acc);
      body.push_back(code::set(first_acc + 1 + next_fma, code::apply(ValueOp::fma, {acc, a, a})));
    }
    for (int n = 0; n < mix.integers; ++n, next_int = (next_int + 1) % kIntegerChains) {
      const int x = first_int + 1 + next_int;
      body.push_back(code::set(
          x, code::opaque(code::apply(ValueOp::add, {code::reg(k, x), code::reg(k, first_int)}))));
    }
  }
}

// Streaming form: passes over blocks, kMixRounds rounds per block.
ir::Kernel mix_kernel(const MixKind& mix, int lanes) {
  ir::Kernel k = code::empty(fmt::format("mix_{}", mix.name));
  code::add_buffer(k, "data", DType::f32, false);
  const int value = code::add_register(k, "value", DType::f32, lanes);
  const int a = code::add_register(k, "a", DType::f32, lanes);
  for (int i = 0; i < 8; ++i) code::add_register(k, fmt::format("acc{}", i), DType::f32, lanes);
  const int y = code::add_register(k, "y", DType::i64, 1);
  for (int i = 0; i < kIntegerChains; ++i)
    code::add_register(k, fmt::format("x{}", i), DType::i64, 1);
  const int last = static_cast<int>(k.registers.size());
  k.body.push_back(code::declare(0, last));
  for (int r = 0; r < last; ++r) {
    const ir::Register& reg = k.registers[static_cast<size_t>(r)];
    k.body.push_back(code::set(r, code::opaque(code::number(1, reg.dtype, reg.lanes))));
  }
  const int parameters = code::add_parameters(k);
  const int passes = code::parameter(k, "passes", parameters, ir::constant(0), kMaxPasses);
  const int blocks = code::parameter(k, "blocks", parameters, ir::constant(1), kBlocks);
  const int pass = code::add_index(k, "pass"), block = code::add_index(k, "block");
  ir::Block body;
  add_mix_rounds(k, mix, value, a, y, body);
  ir::Block inner = {code::loop(block, kBlocks, ir::variable(blocks), std::move(body))};
  k.body.push_back(code::loop(pass, kMaxPasses, ir::variable(passes), std::move(inner)));
  for (int r = a + 1; r < last; ++r) k.body.push_back(code::keep(r));
  return k;
}

const std::vector<std::string> kOps = {"add", "mul", "max", "div", "sqrt", "exp"};

}  // namespace

int op_steps(const std::string& op, int chains, bool threads) {
  static const std::set<std::string> kSimple = {"fma",     "add",     "mul",     "max",
                                                "fma+add", "fma+mul", "fma+max", "add+max"};
  return chains *
         std::max(1, (threads && kSimple.contains(op) ? kSimpleSteps : kChainSteps) / chains);
}

namespace {

std::string identifier(std::string name) {
  std::replace(name.begin(), name.end(), '+', '_');
  return name;
}

}  // namespace

std::string op_name(const std::string& op, int lanes, int chains) {
  return identifier(fmt::format("op_{}_{}_{}", op, lanes, chains));
}

std::string tick_name(const std::string& load, int lanes) {
  return fmt::format("tick_{}_{}", load, lanes);
}

std::span<const std::string> op_names() { return kOps; }

void add_compute_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  to.push_back(sentinel());
  for (const int lanes : shape.lanes)
    for (const char* load : kTickLoads) to.push_back(tick(load, lanes));
  to.push_back(nothing());
  if (shape.threads && shape.group_bytes > 0) to.push_back(alone(shape.group_bytes));
  for (const int lanes : shape.lanes) {
    for (const int c : kFmaChains) to.push_back(chains("fma", lanes, c, shape.threads));
    for (const std::string& op : kOps)
      for (const int c : kOpChains) to.push_back(chains(op, lanes, c, shape.threads));
    for (const char* pair : kOverlapPairs)
      to.push_back(chains(pair, lanes, kPairChains, shape.threads));
  }
  add_type_kernels(shape, to);
  const int mixed = shape.threads ? shape.lanes.front() : kMixLanes;
  for (const MixKind& m : kMixes) to.push_back(mix_kernel(m, mixed));
}

}  // namespace assay::probe
