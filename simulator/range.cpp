#include "simulator/range.h"

#include <algorithm>

namespace assay::simulator {

namespace {

constexpr int64_t kSampledPlaces = 100;  // evenly over a range, each in the middle of its part

template <typename Predicate>
double part_where(const Range& bytes, const Predicate& holds) {
  const int64_t size = bytes.end - bytes.begin, places = std::min(kSampledPlaces, size);
  int64_t n = 0;
  for (int64_t i = 0; i < places; ++i)
    n += holds(bytes.begin + (2 * i + 1) * size / (2 * places)) ? 1 : 0;
  return places > 0 ? static_cast<double>(n) / static_cast<double>(places) : 0;
}

}  // namespace

Range overlap(const Range& a, const Range& b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

Range range_of(const ir::Plan& plan, const ir::PlanTensor& t) {
  const int64_t begin = t.offset + (t.kind == ir::TensorKind::constant ? plan.arena_bytes : 0);
  return {begin, begin + t.bytes};
}

std::vector<Range> separate_ranges(const ir::Program& p, int64_t first) {
  std::vector<Range> out;
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    const ir::Tensor& tensor = p.graph.tensors[t];
    const int64_t bytes =
        ir::physical_elements(p.layouts[t], tensor.shape) * ir::bytes_of(tensor.dtype);
    out.push_back({first, first + bytes});
    first += bytes;
  }
  return out;
}

bool meet(const UnitPartition& a, const UnitPartition& b) {
  return a.first < b.first + b.units && b.first < a.first + a.units;
}

double same_unit_fraction(const Range& bytes, const UnitPartition& now,
                          const UnitPartition& before) {
  if (now == before) return 1;
  if (!meet(now, before)) return 0;
  if (before.is_shared_by_all()) {
    if (before.first <= now.first && now.first + now.units <= before.first + before.units) return 1;
    if (!now.is_shared_by_all())
      return part_where(bytes, [&](int64_t b) { return before.has(now.unit_of(b)); });
    int both = 0;
    for (int u = now.first; u < now.first + now.units; ++u) both += before.has(u) ? 1 : 0;
    return static_cast<double>(both) / now.units;
  }
  if (now.is_shared_by_all()) return 1.0 / before.units;
  return part_where(bytes, [&](int64_t b) { return now.unit_of(b) == before.unit_of(b); });
}

double exclusive_fraction(const Range& bytes, const UnitPartition& now, const UnitPartition& before,
                          const UnitPartition& earlier) {
  if (before.is_shared_by_all() || earlier.is_shared_by_all() || now.is_shared_by_all()) return 0;
  if (now == before && now == earlier) return 1;
  return part_where(bytes, [&](int64_t b) {
    return now.unit_of(b) == before.unit_of(b) && now.unit_of(b) == earlier.unit_of(b);
  });
}

}  // namespace assay::simulator
