// Reference for operations on f16 and bf16: computed with 113 bits, then rounded by a search for
// the nearest number. Shares no code with the implementation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace assay::testing {

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 Wide;
#else
typedef long double Wide;  // the widest type there
#endif

class Format {  // invariant: numbers_[i] is the value of bits i; non-negative, ascending
 public:
  // `finite`: the numbers go on up to the last code, which is NaN.
  Format(int exponent_bits, int fraction_bits, bool finite = false)
      : infinity_bits_(finite ? (1 << (exponent_bits + fraction_bits)) - 1
                              : ((1 << exponent_bits) - 1) << fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    for (int bits = 0; bits < infinity_bits_; ++bits) {
      const int exponent = bits >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
      numbers_.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                       : std::ldexp(fraction + (1 << fraction_bits),
                                                    exponent - bias - fraction_bits));
    }
    // The number after the largest one.
    next_ = finite ? 2 * numbers_.back() - numbers_[numbers_.size() - 2]
                   : std::ldexp(1.0, (1 << exponent_bits) - 1 - bias);
  }
  static Format of(ir::DType t) {
    switch (t) {
      case ir::DType::f16:
        return {5, 10};
      case ir::DType::f8e4m3:
        return {4, 3, true};
      case ir::DType::f8e5m2:
        return {5, 2};
      default:
        return {8, 7};
    }
  }

  int count() const { return infinity_bits_; }
  double number(int bits) const { return numbers_[static_cast<size_t>(bits)]; }

  // `rest`: the rounding error of v, which breaks ties.
  double nearest(Wide v, Wide rest = 0) const {
    const bool negative = v < 0;
    const Wide magnitude = negative ? -v : v, beyond = negative ? -rest : rest;
    const auto above =
        static_cast<size_t>(std::lower_bound(numbers_.begin(), numbers_.end(), magnitude,
                                             [](double a, Wide b) { return Wide(a) < b; }) -
                            numbers_.begin());
    const auto at = [&](size_t i) { return i < numbers_.size() ? numbers_[i] : next_; };
    size_t best = above;
    if (above > 0) {
      const Wide up = Wide(at(above)) - magnitude, down = magnitude - Wide(at(above - 1));
      if (above == numbers_.size() && magnitude >= Wide(next_))
        best = above;
      else if (down < up || (down == up && (beyond < 0 || (beyond == 0 && (above - 1) % 2 == 0))))
        best = above - 1;
    }
    const double out =
        best < numbers_.size() ? numbers_[best] : std::numeric_limits<double>::infinity();
    return negative ? -out : out;
  }

 private:
  int infinity_bits_;
  std::vector<double> numbers_;
  double next_ = 0;
};

// The result before rounding.
inline Wide exactly(ir::ValueOp op, double a, double b, double c) {
  const Wide x = a, y = b, z = c;
  switch (op) {
    case ir::ValueOp::add:
      return x + y;
    case ir::ValueOp::sub:
      return x - y;
    case ir::ValueOp::mul:
      return x * y;
    case ir::ValueOp::div:
      return x / y;
    case ir::ValueOp::fma:
      return x * y + z;
    case ir::ValueOp::neg:
      return -x;
    case ir::ValueOp::max:
      return a < b ? y : x;
    case ir::ValueOp::min:
      return b < a ? y : x;
    case ir::ValueOp::less:
      return a < b ? 1 : 0;
    default:
      return a != 0 ? y : z;  // select
  }
}

// The rounding error of a multiply-add's sum (Knuth's two-sum); its product is exact. For others it
// does not affect rounding.
inline Wide lost(ir::ValueOp op, double a, double b, double c) {
  if (op != ir::ValueOp::fma) return 0;
  const Wide p = Wide(a) * Wide(b), z = c, s = p + z, back = s - p;
  return (p - (s - back)) + (z - back);
}

// For i8: sums and products wrap to 8 bits; quotients truncate.
inline int exactly_i8(ir::ValueOp op, int a, int b, int c) {
  switch (op) {
    case ir::ValueOp::add:
      a += b;
      break;
    case ir::ValueOp::sub:
      a -= b;
      break;
    case ir::ValueOp::mul:
      a *= b;
      break;
    case ir::ValueOp::div:
      a = b == 0 ? 0 : a / b;
      break;
    case ir::ValueOp::fma:
      a = a * b + c;
      break;
    case ir::ValueOp::neg:
      a = -a;
      break;
    case ir::ValueOp::max:
      a = std::max(a, b);
      break;
    case ir::ValueOp::min:
      a = std::min(a, b);
      break;
    case ir::ValueOp::less:
      a = a < b ? 1 : 0;
      break;
    default:
      a = a != 0 ? b : c;
  }
  return ((a + 128) & 255) - 128;
}

// out[i] = op(x[i], y[i], z[i]) of n elements, `lanes` at a time.
inline ir::Kernel ternary(const std::string& name, ir::ValueOp op, ir::DType type, int lanes,
                          int64_t n) {
  ir::Kernel k;
  k.name = name;
  for (const char* b : {"x", "y", "z"}) k.buffers.push_back({b, type, n, ir::Scope::global, false});
  k.buffers.push_back({"out", type, n, ir::Scope::global, true});
  k.index_names = {"group"};
  k.groups = n / lanes;
  ir::Value v;
  v.op = op;
  v.dtype = type;
  v.lanes = lanes;
  const int operands = op == ir::ValueOp::fma || op == ir::ValueOp::select ? 3
                       : op == ir::ValueOp::neg                            ? 1
                                                                           : 2;
  for (int i = 0; i < operands; ++i) {
    ir::Value load;
    load.op = ir::ValueOp::load;
    load.dtype = type;
    load.lanes = load.count = lanes;
    load.id = i;
    load.index = ir::variable(0, lanes);
    v.args.push_back(load);
  }
  ir::Store s;
  s.id = 3;
  s.index = ir::variable(0, lanes);
  s.count = lanes;
  s.value = v;
  k.body.push_back({s});
  return k;
}

}  // namespace assay::testing
