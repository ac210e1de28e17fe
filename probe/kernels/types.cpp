// Kernels of operations on other element types.
#include "probe/kernels/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ir/element.h"
#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

using ir::DType;
using ir::ValueOp;

bool is_whole(DType t) { return ir::is_integer(t); }
bool is_dot(const TypedOp& op) { return std::string(op.op) == "dot"; }
bool joins(const TypedOp& op) { return is_whole(op.dtype) && std::string(op.op) == "add"; }

double start_of(const TypedOp& op) {
  const std::string name = op.op;
  if (is_whole(op.dtype)) return name == "div" ? 1 << 15 : name == "mul" ? 3 : 1;
  return name == "fma" || name == "add" ? 0.0 : 1.5;
}

double operand_of(const TypedOp& op) {
  const std::string name = op.op;
  if (is_dot(op) || op.dtype == DType::i8) return 2;  // the result converges to another number
  if (is_whole(op.dtype)) return name == "div" ? (1 << 30) + 1 : 1;
  return name == "mul" || name == "div" ? 1.0 + 1e-7 : 1.0;
}

struct Chain {
  TypedOp op;
  int x = -1, y = -1;  // y: for steps that alternate
  int a = -1;          // the operand, one of all chains of an operation
};

// Step number `n` of a chain.
ir::Stmt step_of(const ir::Kernel& k, const Chain& c, int n) {
  const std::string op = c.op.op;
  const ir::Value x = code::reg(k, c.x), a = code::reg(k, c.a);
  if (c.y >= 0) {
    const ir::Value y = code::reg(k, c.y);
    return n % 2 == 0 ? code::set(c.x, code::apply(ValueOp::add, {x, y}))
                      : code::set(c.y, code::apply(ValueOp::add, {y, x}));
  }
  if (joins(c.op)) return code::set(c.x, code::opaque(code::apply(ValueOp::add, {x, a})));
  if (is_dot(c.op)) return code::set(c.x, code::apply(ValueOp::dot, {x, a, a}));
  if (op == "fma")
    return code::set(c.x, code::apply(ValueOp::fma, {x, is_whole(c.op.dtype) ? x : a, a}));
  if (op == "add") return code::set(c.x, code::apply(ValueOp::add, {x, a}));
  if (op == "mul")
    return code::set(c.x, code::apply(ValueOp::mul, {x, is_whole(c.op.dtype) ? x : a}));
  if (op == "div")
    return code::set(c.x, is_whole(c.op.dtype) ? code::apply(ValueOp::div, {a, x})
                                               : code::apply(ValueOp::div, {x, a}));
  if (op == "sqrt") return code::set(c.x, code::apply(ValueOp::sqrt, {x}));
  return code::set(c.x, code::apply(ValueOp::div, {a, code::apply(ValueOp::sqrt, {x})}));  // rsqrt
}

// A register whose value the compiler does not know.
int begin(ir::Kernel& k, const std::string& name, const TypedOp& op, int lanes, double number) {
  const int r = code::add_register(k, name, op.dtype, lanes);
  k.body.push_back(code::declare(r, 1));
  k.body.push_back(code::set(r, code::opaque(code::number(number, op.dtype, lanes))));
  return r;
}

// Chains of `ops`, interleaved, one step of each; the first chain's x is stored.
ir::Kernel kernel_of(const std::string& name, const std::vector<TypedOp>& ops, int count, int lanes,
                     bool threads) {
  ir::Kernel k = code::empty(name);
  const int out = code::add_buffer(k, "out", ops[0].dtype, true);
  std::vector<int> operands;
  for (const TypedOp& op : ops)
    operands.push_back(
        begin(k, "a_" + typed_name(op), op, lanes_of(op.dtype, lanes, threads), operand_of(op)));
  std::vector<Chain> chains;
  for (int i = 0; i < count; ++i) {
    const size_t which = static_cast<size_t>(i) % ops.size();
    const TypedOp& op = ops[which];
    const int width = lanes_of(op.dtype, lanes, threads);
    const double start = start_of(op) + 2 * i;
    Chain c{op, begin(k, fmt::format("x{}", i), op, width, start), -1, operands[which]};
    if (threads && joins(op)) c.y = begin(k, fmt::format("y{}", i), op, width, start);
    chains.push_back(c);
  }
  ir::Block body;
  for (int n = 0; n < typed_steps(count) / count; ++n)
    for (const Chain& c : chains) body.push_back(step_of(k, c, n));
  code::counted_loop(k, std::move(body));
  for (const Chain& c : chains) {
    code::repeat(k.body, c.x != chains[0].x ? 1 : 0, {code::keep(c.x)});
    code::repeat(k.body, c.y >= 0 ? 1 : 0, {code::keep(c.y)});
  }
  k.body.push_back(code::store(out, ir::variable(0, kSlotFloats), code::reg(k, chains[0].x)));
  return k;
}

constexpr TypedOp kFma = {"fma", DType::f32};
constexpr int kTypedIteration = 96;  // steps, about

// Signed numbers that wrap around.
int32_t whole_result(const TypedOp& op, int64_t steps, bool threads) {
  const std::string name = op.op;
  auto x = static_cast<uint32_t>(start_of(op)), y = x;
  const auto a = static_cast<uint32_t>(operand_of(op));
  for (int64_t n = 0; n < steps; ++n) {
    if (name == "mul")
      x *= x;
    else if (name == "fma")
      x = x * x + a;
    else if (is_dot(op))
      x = static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(x)) *
                                static_cast<int32_t>(a)) +
          a;  // a is less than a byte
    else if (name == "div")
      x = a / x;
    else if (threads)
      (n % 2 == 0 ? x : y) += n % 2 == 0 ? y : x;
    else
      x += a;
  }
  return op.dtype == DType::i8 ? static_cast<int8_t>(x) : static_cast<int32_t>(x);
}

}  // namespace

bool is_narrow(DType t) {
  return t == DType::f16 || t == DType::bf16 || t == DType::i8 || ir::numbers_in(t) > 1;
}

std::string typed_name(const TypedOp& op) {
  return fmt::format("{}.{}", op.op, ir::name_of(op.dtype));
}
std::string beside_name(const TypedOp& op) { return "fma+" + typed_name(op); }

std::string typed_kernel(const std::string& name, int lanes, int chains) {
  std::string out = fmt::format("op_{}_{}_{}", name, lanes, chains);
  for (char& c : out) c = c == '+' || c == '.' ? '_' : c;
  return out;
}

bool usable(const TypedOp& op, const KernelShape& shape) {
  const auto has = [&](std::string_view type) {
    return std::find(shape.types.begin(), shape.types.end(), type) != shape.types.end();
  };
  if (is_dot(op)) return has("dot");
  if (!is_narrow(op.dtype)) return op.dtype != DType::f64 || shape.f64;
  return has(ir::name_of(op.dtype)) && (shape.threads || ir::numbers_in(op.dtype) == 1);
}

int64_t checked_iterations(const TypedOp& op) {
  return ir::number_type(op.dtype) == DType::bf16 ? 2 : 10;
}

int lanes_of(DType dtype, int lanes, bool threads) {
  return threads ? lanes : std::max(1, lanes * 4 / ir::bytes_of(dtype));
}

int typed_steps(int chains) { return chains * std::max(2, kTypedIteration / chains / 2 * 2); }

double typed_result(const TypedOp& op, int64_t steps, bool threads) {
  if (is_whole(op.dtype)) return whole_result(op, steps, threads);
  const std::string name = op.op;
  const double a = operand_of(op);
  double x = start_of(op);
  if (is_narrow(op.dtype)) {
    for (int64_t n = 0; n < steps; ++n) x = ir::rounded(ir::number_type(op.dtype), x * a + a);
    return x;
  }
  for (int64_t n = 0; n < steps; ++n)
    x = name == "fma"    ? x * a + a
        : name == "add"  ? x + a
        : name == "mul"  ? x * a
        : name == "div"  ? x / a
        : name == "sqrt" ? std::sqrt(x)
                         : a / std::sqrt(x);
  return x;
}

ir::Kernel typed_chains(const TypedOp& op, int chains, int lanes, bool threads) {
  return kernel_of(typed_kernel(typed_name(op), lanes, chains), {op}, chains, lanes, threads);
}

void add_type_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  for (const int lanes : shape.lanes) {
    for (const TypedOp& op : kTypedOps)
      for (const int chains : kOpChains)
        if (usable(op, shape)) to.push_back(typed_chains(op, chains, lanes, shape.threads));
    for (const TypedOp& op : kOverlapsFma)
      if (usable(op, shape))
        to.push_back(kernel_of(typed_kernel(beside_name(op), lanes, kPairChains), {kFma, op},
                               kPairChains, lanes, shape.threads));
  }
}

}  // namespace assay::probe
