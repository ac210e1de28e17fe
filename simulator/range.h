// Where tensors lie, and which unit touched which of their bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/plan.h"

namespace assay::simulator {

// Bytes [begin, end) of an address space of the caller's. Tensors that lie on the same bytes share
// them. Empty: the caches know nothing of it.
struct Range {
  int64_t begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};

inline double size_of(const Range& r) { return static_cast<double>(r.end - r.begin); }
Range overlap(const Range& a, const Range& b);

// Where a plan's tensor lies: constants behind the arena, which begins at 0.
Range range_of(const ir::Plan& plan, const ir::PlanTensor& t);

// Per tensor a range of its own, from `first` on: nothing shares storage.
std::vector<Range> ranges_apart(const ir::Program& p, int64_t first = 0);

// How units shared bytes out: each `period` of them from `begin` on in as many equal parts as there
// are units, one behind the other. 0: every unit touched all.
struct Dealt {
  int64_t begin = 0, period = 0;
  int units = 1;
  bool operator==(const Dealt&) const = default;

  bool to_all() const { return period <= 0; }
  int unit_of(int64_t byte) const {
    return static_cast<int>((byte - begin) % period * units / period);
  }
};

// The part of `bytes` that a unit, taking its own by `now`, finds to be its own by `before` as
// well.
double mine_again(const Range& bytes, const Dealt& now, const Dealt& before);

// The part of them that nobody else touched: neither by `before` nor by `earlier`.
double mine_alone(const Range& bytes, const Dealt& now, const Dealt& before, const Dealt& earlier);

}  // namespace assay::simulator
