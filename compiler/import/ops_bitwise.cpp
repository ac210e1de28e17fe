// BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot.
//
// At run time integers are f32, exact up to 2^24, and an operation is a sum over the bits k of
// two's complement. s is 1 where the result is negative:
//
//   y = -s + sum(k) 2^k (op(a_k, b_k) - s),   a_k = floor(a / 2^k) - 2 floor(a / 2^(k + 1))
//
// All terms have the sign of the result, so that no partial sum is larger than it.
#include <fmt/format.h>

#include <cmath>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::DType;
using ir::number;
using ir::Scalar;
using ir::ScalarOp;

enum class Gate { both, any, one };

Gate gate_of(const std::string& op_type) {
  return op_type == "BitwiseAnd" ? Gate::both : op_type == "BitwiseOr" ? Gate::any : Gate::one;
}

// Of two bits.
Scalar combined(Gate gate, Scalar a, Scalar b) {
  if (gate == Gate::both) return mul(std::move(a), std::move(b));
  if (gate == Gate::any) return max(std::move(a), std::move(b));
  return call(ScalarOp::abs, sub(std::move(a), std::move(b)));
}

int64_t combined(Gate gate, int64_t a, int64_t b) {
  return gate == Gate::both ? a & b : gate == Gate::any ? a | b : a ^ b;
}

void require_integers(const Context& c, int x) {
  const DType t = c.tensor(x).dtype;
  if (!ir::is_integer(t) || t == DType::boolean)
    refuse(fmt::format("{} must hold integers, it holds {}", c.tensor(x).name, ir::name_of(t)));
}

int64_t bits_of(DType t) { return t == DType::u8 || t == DType::i8 ? 8 : 25; }

// The row-major place of an operand's element at the broadcast point.
size_t place_of(const Shape& from, const Shape& to, size_t point) {
  size_t place = 0, stride = 1;
  for (size_t d = to.size(); d-- > 0;) {
    const size_t at = point % static_cast<size_t>(to[d]);
    point /= static_cast<size_t>(to[d]);
    if (d < to.size() - from.size()) continue;
    const int64_t extent = from[d - (to.size() - from.size())];
    if (extent > 1) place += at * stride;
    stride *= static_cast<size_t>(extent);
  }
  return place;
}

int fold(Context& c, Gate gate, int a, int b, const Shape& to) {
  c.check_constant_size(c.tensor(a).dtype, to);
  const Shape x = c.integers(a), y = c.integers(b), xs = c.shape(a), ys = c.shape(b);
  size_t count = 1;
  for (int64_t extent : to) count *= static_cast<size_t>(extent);
  Shape values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = combined(gate, x[place_of(xs, to, i)], y[place_of(ys, to, i)]);
  return c.add_integers(c.tensor(a).dtype, to, values);
}

int emit_bits(Context& c, Gate gate, int a, int b, const Shape& to) {
  const int64_t bits = bits_of(c.tensor(a).dtype);
  std::vector<double> factors, divisors;
  for (int k = 0; k < bits; ++k) {
    factors.push_back(std::ldexp(1, k));
    divisors.push_back(std::ldexp(1, -k));
  }
  Expression e = pointwise("bitwise", to, c.tensor(a).dtype);
  const ir::Index k = ir::variable(static_cast<int>(to.size()));
  e.reduce = {{"k", bits}};
  e.combine = ir::Combiner::sum;
  e.reads = {plain_read(a, broadcast_index(c.shape(a), to)),
             plain_read(b, broadcast_index(c.shape(b), to)),
             plain_read(c.add_numbers(DType::f32, {bits}, factors, "factors"), {k}),
             plain_read(c.add_numbers(DType::f32, {bits}, divisors, "divisors"), {k})};
  const auto bit = [](int operand) {
    const Scalar scaled = mul(ir::read(operand), ir::read(3));
    return sub(call(ScalarOp::floor, scaled),
               mul(number(2), call(ScalarOp::floor, mul(scaled, number(0.5)))));
  };
  const Scalar sign = combined(gate, less(ir::read(0), number(0)), less(ir::read(1), number(0)));
  Scalar term = mul(sub(combined(gate, bit(0), bit(1)), sign), ir::read(2));
  const Scalar once = choose(axis_value(to.size()), number(0), sign);
  e.body = sub(std::move(term), once);
  return c.emit(std::move(e));
}

}  // namespace

void import_bitwise(Context& c) {
  const int a = c.input(0), b = c.input(1);
  for (int x : {a, b}) require_integers(c, x);
  if (c.tensor(a).dtype != c.tensor(b).dtype)
    refuse(fmt::format("operands of types {} and {}", ir::name_of(c.tensor(a).dtype),
                       ir::name_of(c.tensor(b).dtype)));
  const Gate gate = gate_of(c.node().op_type());
  const Shape to = broadcast(c.shape(a), c.shape(b));
  c.bind(0, c.folds() ? fold(c, gate, a, b, to) : emit_bits(c, gate, a, b, to));
}

// -1 - x, or of unsigned bytes 255 - x.
void import_bitwise_not(Context& c) {
  const int x = c.input(0);
  require_integers(c, x);
  const DType t = c.tensor(x).dtype;
  if (c.folds()) {
    Shape values = c.integers(x);
    for (int64_t& v : values) v = ~v;
    return c.bind(0, c.add_integers(t, c.shape(x), values));
  }
  Expression e = pointwise("bitwise", c.shape(x), t);
  e.reads = {plain_read(x, identity_index(c.shape(x).size()))};
  e.body = sub(number(t == DType::u8 ? 255 : -1), ir::read(0));
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace assay::import
