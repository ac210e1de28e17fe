#include "codegen/scalar_op.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "ir/element.h"
#include "support/check.h"

namespace assay::codegen {
namespace {

using ir::ValueOp;

// The operations that only floating-point types have.
template <class T>
T apply_float(ValueOp op, T a, T b) {
  switch (op) {
    case ValueOp::pow:
      return std::pow(a, b);
    case ValueOp::exp:
      return std::exp(a);
    case ValueOp::log:
      return std::log(a);
    case ValueOp::sqrt:
      return std::sqrt(a);
    case ValueOp::tanh:
      return std::tanh(a);
    case ValueOp::erf:
      return std::erf(a);
    case ValueOp::floor:
      return std::floor(a);
    case ValueOp::ceil:
      return std::ceil(a);
    case ValueOp::round:
      return std::nearbyint(a);
    case ValueOp::div:
      return a / b;
    default:
      break;
  }
  ASSAY_CHECK(false);
  return a;
}

template <class T>
T apply(ValueOp op, T a, T b, T c) {
  switch (op) {
    case ValueOp::add:
      return static_cast<T>(a + b);
    case ValueOp::sub:
      return static_cast<T>(a - b);
    case ValueOp::mul:
      return static_cast<T>(a * b);
    case ValueOp::max:
      return a < b || b != b ? b : a;
    case ValueOp::min:
      return b < a || b != b ? b : a;
    case ValueOp::neg:
      return static_cast<T>(-a);
    case ValueOp::abs:
      return a < 0 ? static_cast<T>(-a) : a;
    case ValueOp::less:
      return a < b ? T{1} : T{0};
    case ValueOp::equal:
      return a == b ? T{1} : T{0};
    case ValueOp::select:
      return a != 0 ? b : c;
    case ValueOp::opaque:
      return a;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (op == ValueOp::fma) return std::fma(a, b, c);
    return apply_float(op, a, b);
  } else {
    if (op == ValueOp::fma) return static_cast<T>(a * b + c);
    if (op == ValueOp::div) return b == 0 ? T{0} : static_cast<T>(a / b);
    return static_cast<T>(apply_float<double>(op, static_cast<double>(a), static_cast<double>(b)));
  }
}

// In unsigned arithmetic, where overflow wraps.
int64_t apply_integer(ValueOp op, int64_t a, int64_t b, int64_t c) {
  const auto u = [](int64_t v) { return static_cast<uint64_t>(v); };
  switch (op) {
    case ValueOp::add:
      return static_cast<int64_t>(u(a) + u(b));
    case ValueOp::sub:
      return static_cast<int64_t>(u(a) - u(b));
    case ValueOp::mul:
      return static_cast<int64_t>(u(a) * u(b));
    case ValueOp::fma:
      return static_cast<int64_t>(u(a) * u(b) + u(c));
    case ValueOp::neg:
      return static_cast<int64_t>(0 - u(a));
    default:
      return apply<int64_t>(op, a, b, c);
  }
}

// a b + c rounded to odd, for numbers whose product is exact: of the sum's two f64 neighbours, the
// odd one. The second rounding is then correct (Boldo and Melquiond, 2008).
double fma_to_odd(double a, double b, double c) {
  const double p = a * b, s = p + c;
  if (!std::isfinite(s)) return s;
  const double back = s - p, rest = (p - (s - back)) + (c - back);
  if (rest == 0 || (std::bit_cast<uint64_t>(s) & 1) != 0) return s;
  return std::nextafter(s, rest > 0 ? HUGE_VAL : -HUGE_VAL);
}

double apply_small(ValueOp op, ir::DType t, double a, double b, double c) {
  return ir::rounded(t, op == ValueOp::fma ? fma_to_odd(a, b, c) : apply<double>(op, a, b, c));
}

double apply_packed(ValueOp op, ir::DType t, double a, double b, double c) {
  const ir::DType number = ir::number_type(t);
  const auto bits = [](double v) { return static_cast<uint32_t>(v); };
  uint32_t out = 0;
  for (int i = 0; i < ir::numbers_in(t); ++i)
    out = ir::pack(number, out, i,
                   apply_scalar(op, number, ir::unpack(number, bits(a), i),
                                ir::unpack(number, bits(b), i), ir::unpack(number, bits(c), i)));
  return static_cast<double>(out);
}

int64_t dot(int64_t a, int64_t b, int64_t c) {
  for (int i = 0; i < 4; ++i)
    c += int64_t{static_cast<int8_t>(a >> (8 * i))} * int64_t{static_cast<int8_t>(b >> (8 * i))};
  return c;
}

}  // namespace

double number_in(ir::DType t, double number) {
  if (ir::numbers_in(t) == 1) return ir::is_integer(t) ? number : ir::rounded(t, number);
  uint32_t bits = 0;
  for (int i = 0; i < ir::numbers_in(t); ++i) bits = ir::pack(ir::number_type(t), bits, i, number);
  return static_cast<double>(bits);
}

double apply_scalar(ValueOp op, ir::DType t, double a, double b, double c) {
  if (op == ValueOp::convert) return ir::converted(t, a);
  if (ir::numbers_in(t) > 1) return op == ValueOp::opaque ? a : apply_packed(op, t, a, b, c);
  const auto integer = [&] {
    if (op == ValueOp::dot)
      return dot(static_cast<int64_t>(a), static_cast<int64_t>(b), static_cast<int64_t>(c));
    return apply_integer(op, static_cast<int64_t>(a), static_cast<int64_t>(b),
                         static_cast<int64_t>(c));
  };
  switch (t) {
    case ir::DType::f32:
      return static_cast<double>(
          apply(op, static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
    case ir::DType::f64:
      return apply(op, a, b, c);
    case ir::DType::f16:
    case ir::DType::bf16:
      return apply_small(op, t, a, b, c);
    case ir::DType::i8:
      return static_cast<double>(static_cast<int8_t>(integer()));
    case ir::DType::u8:
      return static_cast<double>(static_cast<uint8_t>(integer()));
    case ir::DType::i32:
      return static_cast<double>(static_cast<int32_t>(integer()));
    case ir::DType::i64:
      return static_cast<double>(integer());
    default:
      break;
  }
  ASSAY_CHECK(false);
  return 0;
}

}  // namespace assay::codegen
