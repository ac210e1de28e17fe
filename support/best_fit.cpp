#include "support/best_fit.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace assay {

int64_t best_gap(std::vector<std::pair<int64_t, int64_t>> taken, int64_t bytes) {
  std::sort(taken.begin(), taken.end());
  int64_t best = -1, best_size = std::numeric_limits<int64_t>::max(), end = 0;
  for (const auto& [begin, stop] : taken) {
    if (begin - end >= bytes && begin - end < best_size) best = end, best_size = begin - end;
    end = std::max(end, stop);
  }
  return best >= 0 ? best : end;
}

Fitted fit_lifetimes(std::span<const Lived> arrays, int64_t alignment) {
  Fitted out;
  out.offsets.assign(arrays.size(), 0);
  std::vector<size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return arrays[a].bytes > arrays[b].bytes; });
  const auto aligned = [&](size_t i) {
    return (arrays[i].bytes + alignment - 1) / alignment * alignment;
  };
  for (size_t k = 0; k < order.size(); ++k) {
    const Lived& own = arrays[order[k]];
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t j = 0; j < k; ++j) {
      const Lived& other = arrays[order[j]];
      if (own.first <= other.last && other.first <= own.last)
        taken.emplace_back(out.offsets[order[j]], out.offsets[order[j]] + aligned(order[j]));
    }
    out.offsets[order[k]] = best_gap(std::move(taken), aligned(order[k]));
    out.bytes = std::max(out.bytes, out.offsets[order[k]] + own.bytes);
  }
  return out;
}

}  // namespace assay
