// Storage of tensors, and which unit touched which of its bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/plan.h"

namespace assay::simulator {

// Bytes [begin, end) of an address space of the caller's. Tensors on the same bytes share them.
// Empty: the caches know nothing of it.
struct Range {
  int64_t begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};

inline double size_of(const Range& r) { return static_cast<double>(r.end - r.begin); }
Range overlap(const Range& a, const Range& b);

// The storage of a plan's tensor. The arena begins at 0, and constants follow it.
Range range_of(const ir::Plan& plan, const ir::PlanTensor& t);

// Per tensor a range of its own, from `first` on: nothing shares storage.
std::vector<Range> separate_ranges(const ir::Program& p, int64_t first = 0);

// How units share bytes out: each `period` of them from `begin` on is split into as many equal
// contiguous parts as there are units. period 0: every unit touches all.
struct UnitPartition {
  int64_t begin = 0, period = 0;
  int units = 1;
  int first = 0;  // of the units
  bool operator==(const UnitPartition&) const = default;

  bool is_shared_by_all() const { return period <= 0; }
  int unit_of(int64_t byte) const {
    return first + static_cast<int>((byte - begin) % period * units / period);
  }
  bool has(int unit) const { return unit >= first && unit < first + units; }
};

// Are there units in both?
bool meet(const UnitPartition& a, const UnitPartition& b);

// Of a unit's bytes by `now`, the part that was its own by `before` as well.
double same_unit_fraction(const Range& bytes, const UnitPartition& now,
                          const UnitPartition& before);

// The part of them that no other unit touched, by `before` or by `earlier`.
double exclusive_fraction(const Range& bytes, const UnitPartition& now, const UnitPartition& before,
                          const UnitPartition& earlier);

}  // namespace assay::simulator
