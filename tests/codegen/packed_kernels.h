// Kernels of registers that hold several numbers, and of lanes at addresses of their own. What they
// store, by plain arithmetic on the numbers' bits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/kernel.h"

namespace assay::testing {

inline constexpr int kPackedLanes = 32;
inline constexpr int kPackedNumbers = 512;  // of the input
inline constexpr uint32_t kPackedUntouched = 0x5a5a5a5aU;

// How a register is made. `own` and `guarded` are of lanes at addresses of their own.
enum class Packed { whole, part, splat, apart, inserted, own, guarded };
inline constexpr int kPackedForms = 7;

inline int packed_bits(ir::DType number) { return 8 * ir::bytes_of(number); }

// Lane l of rows of 4 lanes: row l / 4, column l % 4.
inline ir::Index packed_row(const ir::Kernel& k, const ir::Index& lane) {
  return ir::divide(lane, 4, std::vector<ir::Range>(k.index_names.size(), {0, kPackedLanes - 1}));
}
inline ir::Index packed_column(const ir::Kernel& k, const ir::Index& lane) {
  return ir::modulo(lane, 4, std::vector<ir::Range>(k.index_names.size(), {0, kPackedLanes - 1}));
}

// x: numbers; out: a register per lane and form. Forms of lanes of their own only `by_lane`: then
// stores go to rows in reverse, and those of odd rows and column 3 not at all.
inline ir::Kernel packed_kernel(ir::DType number, ir::DType packed, bool by_lane) {
  using ir::ValueOp;
  ir::Kernel k;
  k.name = "packed";
  k.index_names = {"group", "lane"};
  if (by_lane) k.vector_lane = 1;
  k.buffers = {{"x", number, kPackedNumbers, ir::Scope::global, false},
               {"out", packed, kPackedForms * kPackedLanes, ir::Scope::global, true}};
  const int n = ir::bytes_of(packed) / ir::bytes_of(number);
  const ir::Index lane = ir::variable(1);
  ir::Value load;
  load.dtype = packed;
  load.lanes = load.count = kPackedLanes;
  load.id = 0;
  load.numbers = n;
  for (int form = 0; form < kPackedForms; ++form) {
    ir::Value v = load;
    v.op = ValueOp::load;
    switch (static_cast<Packed>(form)) {
      case Packed::whole:
        v.index = ir::constant(3);
        break;
      case Packed::part:
        v.index = ir::constant(2 * n);
        v.count = 13;
        break;
      case Packed::splat:
        v.op = ValueOp::splat;
        v.index = ir::constant(5);
        v.count = 0;
        break;
      case Packed::apart:
        v.op = ValueOp::gather;
        v.index = ir::constant(1);
        v.stride = n + 3;
        v.count = 31;
        break;
      case Packed::inserted: {
        ir::Value all = v;
        all.op = ValueOp::constant;
        all.id = -1;
        all.index = {};
        all.count = 0;
        all.numbers = 1;
        for (int i = 0; i < n; ++i) {
          ir::Value one = v;
          one.dtype = number;
          one.numbers = 1;
          one.index = ir::constant(40 * i + 7);
          ir::Value more = all;
          more.op = ValueOp::insert;
          more.number = n - 1 - i;
          more.args = {all, one};
          all = more;
        }
        v = all;
        break;
      }
      default: {
        if (!by_lane) continue;
        v.op = ValueOp::gather;
        v.index = packed_row(k, lane) * (5 * n) + packed_column(k, lane) * n + 2 * n;
        if (form == static_cast<int>(Packed::own)) break;
        ir::Value zero = load, guard = load;
        zero.op = ValueOp::constant;
        guard.op = ValueOp::guard;
        zero.id = guard.id = -1;
        zero.count = guard.count = 0;
        zero.numbers = guard.numbers = 1;
        v.index = v.index + kPackedNumbers / 2;  // rows from 3 on are outside
        v.index = v.index + packed_row(k, lane) * (kPackedNumbers / 8);
        guard.conditions = {{packed_row(k, lane), 0, 2}, {packed_column(k, lane), 1, 3}};
        guard.args = {v, zero};
        v = guard;
      }
    }
    ir::Store s;
    s.id = 1;
    s.count = kPackedLanes;
    s.value = v;
    s.index = ir::constant(form * kPackedLanes);
    if (by_lane) {
      s.stride = 0;
      s.index = packed_row(k, lane) * -4 + packed_column(k, lane) +
                (form * kPackedLanes + kPackedLanes - 4);
      s.conditions = {
          {ir::modulo(packed_row(k, lane), 2, std::vector<ir::Range>(2, {0, kPackedLanes - 1})), 0,
           0},
          {packed_column(k, lane), 0, 2}};
    }
    k.body.push_back({s});
  }
  return k;
}

// The bits of `out`. `x`: the bits of each number.
inline std::vector<uint32_t> packed_expected(const std::vector<uint32_t>& x, int bits,
                                             bool by_lane) {
  std::vector<uint32_t> out(static_cast<size_t>(kPackedForms) * kPackedLanes, kPackedUntouched);
  const int n = 32 / bits;
  const auto together = [&](int at) {
    uint32_t v = 0;
    for (int i = n - 1; i >= 0; --i)
      v = (bits == 32 ? 0 : v << bits) | x[static_cast<size_t>(at + i)];
    return v;
  };
  for (int form = 0; form < kPackedForms; ++form)
    for (int l = 0; l < kPackedLanes; ++l) {
      const int row = l / 4, column = l % 4;
      uint32_t v = 0;
      switch (static_cast<Packed>(form)) {
        case Packed::whole:
          v = together(3 + l * n);
          break;
        case Packed::part:
          v = l < 13 ? together(2 * n + l * n) : 0;
          break;
        case Packed::splat:
          v = together(5);
          break;
        case Packed::apart:
          v = l < 31 ? together(1 + l * (n + 3)) : 0;
          break;
        case Packed::inserted:
          for (int i = 0; i < n; ++i)
            v |= x[static_cast<size_t>(40 * i + 7 + l)] << (bits * (n - 1 - i));
          break;
        case Packed::own:
          v = together(row * 5 * n + column * n + 2 * n);
          break;
        case Packed::guarded:
          v = row <= 2 && column >= 1 ? together(row * 5 * n + column * n + 2 * n +
                                                 kPackedNumbers / 2 + row * (kPackedNumbers / 8))
                                      : 0;
          break;
      }
      if (!by_lane && form > static_cast<int>(Packed::inserted)) continue;
      if (by_lane && (row % 2 != 0 || column == 3)) continue;
      const int at = by_lane ? (7 - row) * 4 + column : l;
      out[static_cast<size_t>(form * kPackedLanes + at)] = v;
    }
  return out;
}

struct PackedType {
  ir::DType number, packed;
};
inline constexpr PackedType kPackedTypes[] = {{ir::DType::bf16, ir::DType::bf16x2},
                                              {ir::DType::f16, ir::DType::f16x2},
                                              {ir::DType::i8, ir::DType::i32}};

}  // namespace assay::testing
