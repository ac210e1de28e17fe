// Rounding to a narrower floating-point type, the value kept in a wider one.
//
//   r = u round(x / u),  u = 2^(k - digits),  2^k <= |x| < 2^(k + 1)
//
// Powers of two are found by comparing, as logarithms are not exact near them. A product with one
// is exact, on every device. Beneath the normal numbers u is that of the smallest of them. What
// rounds to more than the largest number is infinite, or of 8 bits that number.
#include <cmath>
#include <limits>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"

namespace assay::import {
namespace {

using ir::number;
using ir::Scalar;
using ir::ScalarOp;

struct Narrow {
  int digits;          // behind the binary point of a normal number
  int low, high;       // exponents of normal numbers
  double largest = 0;  // > 0: numbers saturate
};

Narrow narrow_of(ir::DType t) {
  switch (t) {
    case ir::DType::f16:
      return {10, -14, 15};
    case ir::DType::f8e4m3:
      return {3, -6, 8, 448};
    case ir::DType::f8e5m2:
      return {2, -14, 15, 57344};
    default:
      return {7, -126, 127};
  }
}

// 2^(sign k + shift) for the k in low, low + step .. high with 2^k <= y < 2^(k + step).
Scalar power_of_two(const Scalar& y, int low, int high, int step, int sign, int shift) {
  if (low >= high) return number(std::ldexp(1, sign * low + shift));
  const int middle = low + ((high - low) / step + 1) / 2 * step;
  return choose(less(y, number(std::ldexp(1, middle))),
                power_of_two(y, low, middle - step, step, sign, shift),
                power_of_two(y, middle, high, step, sign, shift));
}

constexpr int kStep = 16;  // exponents that one tree of comparisons distinguishes

// A power of two near |x|, or its reciprocal: one of every kStep exponents.
int coarse_scale(Context& c, int x, const Narrow& n, int sign) {
  const Shape shape = c.shape(x);
  Expression e =
      pointwise("scale", shape, ir::DType::f32, sign > 0 ? "round_scale" : "round_inverse");
  e.reads = {plain_read(x, identity_index(shape.size()))};
  const int last = n.low + (n.high - n.low) / kStep * kStep;
  e.body = power_of_two(call(ScalarOp::abs, ir::read(0)), n.low, last, kStep, sign, 0);
  return c.emit(std::move(e));
}

// Infinite from half a unit beyond the largest number on, which is even, or that number; NaN stays.
Scalar limited(const Narrow& n, const Scalar& x, Scalar inside) {
  if (n.largest > 0) {
    Scalar largest = choose(less(x, number(0)), number(-n.largest), number(n.largest));
    return choose(less(call(ScalarOp::abs, x), number(n.largest)), std::move(inside),
                  choose(equal(x, x), std::move(largest), x));
  }
  const double limit = std::ldexp(2 - std::ldexp(1, -n.digits - 1), n.high);
  const double infinity = std::numeric_limits<double>::infinity();
  Scalar beyond = choose(less(x, number(0)), number(-infinity), number(infinity));
  return choose(less(call(ScalarOp::abs, x), number(limit)), std::move(inside),
                choose(equal(x, x), std::move(beyond), x));
}

}  // namespace

int rounded_to(Context& c, int x, ir::DType t, ir::DType kept) {
  const Narrow n = narrow_of(t);
  const Shape shape = c.shape(x);
  const bool wide = n.high - n.low > 2 * kStep;  // scaled first, so that the tree stays small
  const int scale = wide ? coarse_scale(c, x, n, 1) : -1,
            inverse = wide ? coarse_scale(c, x, n, -1) : -1;
  Expression e = pointwise("round", shape, kept);
  e.reads = {plain_read(x, identity_index(shape.size()))};
  for (const int tensor : {scale, inverse})
    if (tensor >= 0) e.reads.push_back(plain_read(tensor, identity_index(shape.size())));
  const Scalar scaled = wide ? mul(ir::read(0), ir::read(2)) : ir::read(0);
  const Scalar size = call(ScalarOp::abs, scaled);
  const int low = wide ? 0 : n.low, high = wide ? kStep - 1 : n.high;
  Scalar value = mul(rounded(mul(scaled, power_of_two(size, low, high, 1, -1, n.digits))),
                     power_of_two(size, low, high, 1, 1, -n.digits));
  if (wide) value = mul(std::move(value), ir::read(1));
  e.body = limited(n, ir::read(0), std::move(value));
  return c.emit(std::move(e));
}

}  // namespace assay::import
