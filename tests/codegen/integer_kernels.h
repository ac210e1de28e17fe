// The kernels of storage_kernels.h with elements of i8, u8 and i32, computed in f32 or i32;
// conversions in registers. What they compute, by a reference that shares no code with the
// implementation.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "tests/codegen/storage_kernels.h"

namespace assay::testing {

struct Pair {
  DType stored, computed;
};

inline const std::vector<Pair>& integer_pairs() {
  static const std::vector<Pair> all = {{DType::i8, DType::f32},
                                        {DType::u8, DType::f32},
                                        {DType::i8, DType::i32},
                                        {DType::u8, DType::i32},
                                        {DType::i32, DType::f32}};
  return all;
}

struct Limits {
  double low, high;
};

inline Limits limits_of(DType t) {
  if (t == DType::i8) return {-128, 127};
  if (t == DType::u8) return {0, 255};
  return {-2147483648.0, 2147483647.0};
}

// By the distances to both neighbours.
inline double nearest_whole(double v, Limits l) {
  if (v <= l.low) return l.low;
  if (v >= l.high) return l.high;
  const double below = std::floor(v), up = below + 1 - v, down = v - below;
  const bool even = std::fmod(below, 2) == 0;
  return down < up || (down == up && even) ? below : below + 1;
}

// Elements: all there are, or edges and random ones.
inline std::vector<double> all_whole(DType t, std::mt19937& rng, size_t n) {
  const Limits l = limits_of(t);
  const bool small = l.high < 1000;
  std::vector<double> out(n);
  std::uniform_int_distribution<int32_t> any(std::numeric_limits<int32_t>::min());
  for (size_t i = 0; i < n; ++i)
    out[i] = small ? l.low + static_cast<double>(i % 256) : static_cast<double>(any(rng));
  if (!small) {
    out[1] = l.low;
    out[n / 2] = l.high;
    out[n - 2] = 16777217;  // halfway between two f32
  }
  return out;
}

// Values to be stored: whole numbers, those halfway between two, their neighbours, edges of the
// type, and numbers far beyond it.
inline std::vector<double> values_to_store(const Pair& p, std::mt19937& rng, size_t n) {
  std::uniform_int_distribution<int> near(-600, 1200), pick(0, 9);
  std::uniform_real_distribution<float> wide(-4e9F, 4e9F), inside(-2e9F, 2e9F);
  const Limits l = limits_of(p.stored);
  std::vector<double> out;
  for (size_t i = 0; i < n; ++i) {
    const int how = pick(rng);
    float v = static_cast<float>(near(rng)) / 2;
    if (how == 6) v = std::nextafter(v, 1e9F);
    if (how == 7) v = std::nextafter(v, -1e9F);
    if (how > 7) v = how == 8 ? wide(rng) : inside(rng);
    out.push_back(static_cast<double>(v));
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> special = {
      l.low,     l.high,     l.low - 0.5, l.high + 0.5, l.low - 1,     l.high + 1,   -0.0,
      -0.5,      0.5,        1.5,         2.5,          kInfinity,     -kInfinity,   3e38,
      8388607.5, -8388608.5, 2147483520,  2147483648.0, -2147483648.0, -2147483904.0};
  for (size_t i = 0; i < special.size() && i < n; ++i) out[i * (n / 24)] = special[i];
  for (double& v : out)
    v = p.computed == DType::i32 ? nearest_whole(v, limits_of(DType::i32))
                                 : static_cast<double>(static_cast<float>(v));
  return out;
}

// Whatever was f32 is of type `t`. Sums become maxima, since those of whole numbers may not fit.
inline void retype(Value& v, DType t) {
  if (v.dtype == DType::f32) v.dtype = t;
  if (v.op == ValueOp::add) v.op = ValueOp::max;
  v.number = std::floor(v.number);
  for (Value& a : v.args) retype(a, t);
}

inline void retype(Block& block, DType t) {
  for (Stmt& s : block) {
    if (auto* store = std::get_if<Store>(&s.node)) retype(store->value, t);
    if (auto* to = std::get_if<Assign>(&s.node)) retype(to->value, t);
    if (auto* branch = std::get_if<If>(&s.node)) {
      retype(branch->then_body, t);
      retype(branch->else_body, t);
    }
  }
}

inline Kernel computed_in(Kernel k, DType t) {
  if (t == DType::f32) return k;
  for (Buffer& b : k.buffers)
    if (b.dtype == DType::f32) b.dtype = t;
  for (Register& r : k.registers)
    if (r.dtype == DType::f32) r.dtype = t;
  retype(k.body, t);
  return k;
}

// Number i of an output of reads_kernel for the pair; x: the elements.
inline double whole_read_at(const Pair& p, ReadForm r, const std::vector<double>& x,
                            const std::vector<int>& at, int lanes, size_t i) {
  const double v = read_at(r, x, at, lanes, i);
  return p.computed == DType::f32 ? static_cast<double>(static_cast<float>(v)) : std::floor(v);
}

// Element i of an output of writes_kernel for the pair.
inline double whole_written_at(const Pair& p, WriteForm o, const std::vector<double>& v,
                               const std::vector<double>& w, int lanes, size_t i) {
  const size_t n = v.size(), width = static_cast<size_t>(lanes), at = o == kScattered ? i / 2 : i,
               first = at / width * width;
  const bool cut = first + width > n && o != kAll, odd = o == kScattered && i % 2 != 0,
             last = o == kFirst && at % width == width - 1;
  if (cut || odd || last) return static_cast<double>(kUntouched);
  const auto f32 = [](double a) { return static_cast<double>(static_cast<float>(a)); };
  const Limits l = limits_of(p.stored);
  switch (o) {
    case kSame:
      return nearest_whole(v[first], l);
    case kMoved:
      return w[at];
    case kSum:
      return nearest_whole(
          p.computed == DType::i32 ? std::max(v[at], w[at]) : f32(v[at] + f32(w[at])), l);
    case kBack:
      return p.computed == DType::f32 ? f32(nearest_whole(v[at], l)) : nearest_whole(v[at], l);
    default:
      return nearest_whole(v[at], l);
  }
}

// Of n f32 in v and n i32 in w: to_i32 = the nearest i32, to_f32 = w as f32, rounded = v rounded,
// scaled = u8 of (w as f32) * 0.5.
inline Kernel register_conversions(int lanes, int64_t n) {
  Kernel k;
  k.name = "registers";
  k.buffers = {input("v", n),
               of_type(input("w", n), DType::i32),
               of_type(output("to_i32", n), DType::i32),
               output("to_f32", n),
               output("rounded", n),
               of_type(output("scaled", n), DType::u8)};
  k.registers = {{"sum", DType::i32, lanes}};
  k.index_names = {"group"};
  k.groups = n / lanes;
  const Index at = group_of(lanes);
  const auto convert = [&](DType to, Value a) {
    Value v = op(ValueOp::convert, {std::move(a)});
    v.dtype = to;
    return v;
  };
  Value whole = load(1, at, lanes), sum = reg(0, lanes);
  whole.dtype = sum.dtype = DType::i32;
  const Value v = load(0, at, lanes);
  k.body = {declare({0}),
            assign(0, whole),
            store(2, at, convert(DType::i32, v)),
            store(3, at, convert(DType::f32, sum)),
            store(4, at, op(ValueOp::round, {v})),
            store(5, at, op(ValueOp::mul, {convert(DType::f32, sum), constant_of(0.5, lanes)}))};
  return k;
}

inline double register_converted(int output, double v, double w) {
  const double wide = static_cast<double>(static_cast<float>(w));
  switch (output) {
    case 2:
      return nearest_whole(v, limits_of(DType::i32));
    case 3:
      return wide;
    case 4:
      return std::abs(v) < 1e30 ? nearest_whole(v, {-1e30, 1e30}) : v;
    default:
      return nearest_whole(wide * 0.5, limits_of(DType::u8));
  }
}

}  // namespace assay::testing
