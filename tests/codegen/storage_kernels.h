// Kernels whose loads and stores convert between small floats and f32, in every form of access.
// What they compute, by a reference that shares no code with the implementation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tests/codegen/kernels.h"
#include "tests/codegen/narrow_reference.h"

namespace assay::testing {

using Bits = std::vector<uint16_t>;

// Elements of 8 or 16 bits as numbers, and the nearest ones. Those of 8 bits saturate.
class Elements {
 public:
  explicit Elements(DType t)
      : format_(Format::of(t)),
        sign_(t == DType::f8e4m3 || t == DType::f8e5m2 ? 0x80 : 0x8000),
        has_infinity_(t != DType::f8e4m3) {}

  int codes() const { return 2 * sign_; }
  double number(uint16_t bits) const {
    const int magnitude = bits & (sign_ - 1);
    const double v = magnitude < format_.count() ? format_.number(magnitude)
                     : magnitude == format_.count() && has_infinity_
                         ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
    return (bits & sign_) != 0 ? -v : v;
  }
  double nearest(float v) const {
    if (std::isnan(v)) return static_cast<double>(v);
    double magnitude = std::abs(static_cast<double>(v));
    if (sign_ == 0x80) magnitude = std::min(magnitude, format_.number(format_.count() - 1));
    return std::copysign(format_.nearest(magnitude), static_cast<double>(v));
  }

  // Numbers to be stored: elements, those halfway between two, their neighbours, and random ones.
  std::vector<float> to_store(std::mt19937& rng, size_t n) const {
    std::uniform_int_distribution<int> any(0, format_.count() - 2), pick(0, 9), sign(0, 1);
    std::uniform_int_distribution<uint32_t> bits;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::vector<float> out;
    for (size_t i = 0; i < n; ++i) {
      const int at = any(rng), how = pick(rng);
      const auto low = static_cast<float>(format_.number(at)),
                 half = static_cast<float>((format_.number(at) + format_.number(at + 1)) / 2);
      const uint32_t word = bits(rng);
      float v = how < 2 ? low : how < 6 ? half : std::nextafter(half, how == 6 ? 0 : kInfinity);
      if (how > 7) std::memcpy(&v, &word, sizeof v);
      out.push_back(sign(rng) != 0 ? -v : v);
    }
    const std::vector<float> special = {0.0F,
                                        -0.0F,
                                        kInfinity,
                                        -kInfinity,
                                        std::numeric_limits<float>::quiet_NaN(),
                                        std::numeric_limits<float>::max(),
                                        static_cast<float>(format_.number(1)),
                                        static_cast<float>(format_.number(format_.count() - 1)),
                                        65519.996F,
                                        65520.0F,
                                        -65536.0F};
    const size_t step = n / 16;
    for (size_t i = 0; i < special.size() && i < n; ++i) out[i * step] = special[i];
    // NaN whose bits a careless sum carries into the sign, or cuts off.
    const std::vector<uint32_t> nans = {0x7fffffff, 0xffffffff, 0x7f800001, 0xff800001};
    for (size_t i = 0; i < nans.size() && i < n; ++i)
      std::memcpy(&out[(i + special.size()) * step], &nans[i], sizeof(float));
    return out;
  }

 private:
  Format format_;
  int sign_;
  bool has_infinity_;
};

// Devices may flush numbers that are denormal as f32.
inline bool is_tiny(double v) { return v != 0 && std::abs(v) < 0x1p-126; }

inline bool agrees(double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  if (is_tiny(expected) && got == 0) return true;
  return got == expected && std::signbit(got) == std::signbit(expected);
}

inline Buffer of_type(Buffer b, DType t) {
  b.dtype = t;
  return b;
}

constexpr float kFill = 0.1F;       // neither type holds it
constexpr float kHeld = -0.25F;     // both do
constexpr float kUntouched = 77.0;  // is in outputs before

inline Index group_of(int lanes, int64_t step = 1) { return variable(0, lanes * step); }

// Outputs of reads_kernel, each of n floats.
enum ReadForm { kWhole, kPart, kSplat, kReversed, kIndirect, kGuarded, kStaged, kComputed, kReads };

// Reads n elements in vectors of `lanes`; the last one may be cut off, which only kWhole writes.
inline Kernel reads_kernel(DType type, int lanes, int64_t n, Space space = Space::plain) {
  Kernel k;
  k.name = "reads";
  k.buffers = {of_type(input("x", n), type), of_type(input("at", n), DType::i32)};
  k.buffers[0].space = space;
  for (int i = 0; i < kReads; ++i) k.buffers.push_back(output("y" + std::to_string(i), n));
  k.buffers.push_back(of_type(scratch("copied", lanes), type));
  k.registers = {{"r", DType::f32, lanes}};
  k.index_names = {"group"};
  k.groups = (n + lanes - 1) / lanes;
  const Index at = group_of(lanes);
  const int staged = 2 + kReads;
  const auto to = [&](ReadForm r, Value v) { return store(2 + r, at, std::move(v)); };
  const auto filled = [](Value v, float number) {
    v.number = static_cast<double>(number);
    return v;
  };
  Value places = load(1, at, lanes);
  places.dtype = DType::i32;
  Value indirect;
  indirect.op = ValueOp::indirect;
  indirect.lanes = lanes;
  indirect.id = 0;
  indirect.args = {places};
  Value moved = load(0, at, lanes);
  moved.dtype = type;
  const Value loaded = load(0, at, lanes), kept = reg(0, lanes);
  const Block whole = {
      to(kWhole, loaded),
      to(kPart, filled(load(0, at, lanes, lanes - 1), kHeld)),
      to(kSplat, splat(0, at, lanes)),
      to(kReversed, filled(gather(0, at + (lanes - 1), -1, lanes, lanes - 1), kFill)),
      to(kIndirect, indirect),
      to(kGuarded, guard({{variable(0), 0, k.groups / 2}}, loaded,
                         constant_of(static_cast<double>(kFill), lanes))),
      store(staged, {}, moved),
      to(kStaged, load(staged, {}, lanes)),
      declare({0}),
      assign(0, loaded),
      to(kComputed, op(ValueOp::fma, {kept, splat(0, at, lanes), kept})),
  };
  const int tail = static_cast<int>(n % lanes);
  const Block part = {store(2 + kWhole, at, filled(load(0, at, lanes, std::max(1, tail)), kFill),
                            std::max(1, tail))};
  k.body = {Stmt{If{{{variable(0), 0, n / lanes - 1}}, whole, tail == 0 ? Block{} : part}}};
  return k;
}

// Number i of an output of reads_kernel; x: as numbers.
inline double read_at(ReadForm r, const std::vector<double>& x, const std::vector<int>& at,
                      int lanes, size_t i) {
  const size_t n = x.size(), width = static_cast<size_t>(lanes), first = i / width * width;
  if (first + width > n && r != kWhole) return static_cast<double>(kUntouched);
  const bool last = i % width == width - 1;
  switch (r) {
    case kPart:
      return last ? static_cast<double>(kHeld) : x[i];
    case kSplat:
      return x[first];
    case kReversed:
      return last ? static_cast<double>(kFill) : x[first + width - 1 - i % width];
    case kIndirect:
      return x[static_cast<size_t>(at[i])];
    case kGuarded:
      return i / width <= (n + width - 1) / width / 2 ? x[i] : static_cast<double>(kFill);
    case kComputed:
      return static_cast<double>(std::fma(static_cast<float>(x[i]), static_cast<float>(x[first]),
                                          static_cast<float>(x[i])));
    default:
      return x[i];
  }
}

// Outputs of writes_kernel: elements of the type, but those of kBack, which are f32.
enum WriteForm { kAll, kFirst, kScattered, kSame, kMoved, kSum, kBack, kWrites };

// Stores n f32 values as elements in vectors of `lanes`; the last one may be cut off, which only
// kAll writes. kScattered has elements 2 i alone.
inline Kernel writes_kernel(DType type, int lanes, int64_t n) {
  Kernel k;
  k.name = "writes";
  k.buffers = {input("v", n), of_type(input("w", n), type)};
  for (int i = 0; i < kWrites; ++i)
    k.buffers.push_back(of_type(output("y" + std::to_string(i), i == kScattered ? 2 * n : n),
                                i == kBack ? DType::f32 : type));
  k.buffers.push_back(of_type(scratch("rounded", lanes), type));
  k.index_names = {"group"};
  k.groups = (n + lanes - 1) / lanes;
  const Index at = group_of(lanes);
  const int staged = 2 + kWrites;
  Value moved = load(1, at, lanes);
  moved.dtype = type;
  const Value v = load(0, at, lanes);
  Stmt scattered = store(2 + kScattered, group_of(lanes, 2), v);
  std::get<Store>(scattered.node).stride = 2;
  const Block whole = {
      store(2 + kAll, at, v),
      store(2 + kFirst, at, v, lanes - 1),
      scattered,
      store(2 + kSame, at, splat(0, at, lanes)),
      store(2 + kMoved, at, moved),
      store(2 + kSum, at, op(ValueOp::add, {v, load(1, at, lanes)})),
      store(staged, {}, v),
      store(2 + kBack, at, load(staged, {}, lanes)),
  };
  const int tail = static_cast<int>(n % lanes);
  const Block part = {
      store(2 + kAll, at, load(0, at, lanes, std::max(1, tail)), std::max(1, tail))};
  k.body = {Stmt{If{{{variable(0), 0, n / lanes - 1}}, whole, tail == 0 ? Block{} : part}}};
  return k;
}

// Element i of an output of writes_kernel as a number; w: as numbers.
inline double written_at(WriteForm o, const Elements& type, const std::vector<float>& v,
                         const std::vector<double>& w, int lanes, size_t i) {
  const size_t n = v.size(), width = static_cast<size_t>(lanes), at = o == kScattered ? i / 2 : i,
               first = at / width * width;
  const bool cut = first + width > n && o != kAll, odd = o == kScattered && i % 2 != 0,
             last = o == kFirst && at % width == width - 1;
  if (cut || odd || last)
    return o == kBack ? static_cast<double>(kUntouched) : type.nearest(kUntouched);
  switch (o) {
    case kSame:
      return type.nearest(v[first]);
    case kMoved:
      return w[at];
    case kSum:
      return type.nearest(v[at] + static_cast<float>(w[at]));
    default:
      return type.nearest(v[at]);
  }
}

// Where a device may have flushed an operand.
inline bool is_flushed_sum(WriteForm o, const std::vector<float>& v, const std::vector<double>& w,
                           size_t i) {
  return o == kSum && (is_tiny(static_cast<double>(v[i])) || is_tiny(w[i]) ||
                       is_tiny(static_cast<double>(v[i] + static_cast<float>(w[i]))));
}

// y[g] = the position that element g stands for, as an index of x; -1: none.
inline Kernel positions_kernel(DType type, int64_t n, int64_t extent) {
  Kernel k;
  k.name = "positions";
  k.buffers = {of_type(input("p", n), type), input("x", extent), output("y", n)};
  k.index_names = {"group", "place"};
  k.groups = n;
  k.body = {Stmt{Locate{1, 0, variable(0), extent}},
            Stmt{If{{{variable(1), 0, extent - 1}},
                    {store(2, variable(0), load(1, variable(1), 1))},
                    {store(2, variable(0), constant_of(-1, 1))}}}};
  return k;
}

// Every element; the rest starts again.
inline Bits all_elements(size_t n) {
  Bits out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint16_t>(i);
  return out;
}

inline std::vector<double> numbers_of(const Elements& type, const Bits& bits) {
  std::vector<double> out;
  for (const uint16_t b : bits) out.push_back(type.number(b));
  return out;
}

}  // namespace assay::testing
