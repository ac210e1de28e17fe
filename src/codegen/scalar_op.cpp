#include "codegen/scalar_op.h"

#include <cmath>
#include <cstdint>

#include "base/check.h"

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
      return a < b ? b : a;
    case ValueOp::min:
      return b < a ? b : a;
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

}  // namespace

double apply_scalar(ValueOp op, ir::DType t, double a, double b, double c) {
  const auto integer = [&] {
    return apply_integer(op, static_cast<int64_t>(a), static_cast<int64_t>(b),
                         static_cast<int64_t>(c));
  };
  switch (t) {
    case ir::DType::f32:
      return static_cast<double>(
          apply(op, static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
    case ir::DType::f64:
      return apply(op, a, b, c);
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
