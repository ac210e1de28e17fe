// A scan, a scatter or a sort of terms that are known, by the definitions of kind.h: of float64 for
// `evaluate`, of integers for constants. It shares no code with lowering.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace assay::ir {

template <class T>
struct Terms {
  std::vector<int64_t> shape;  // of the output
  std::vector<T> values;       // at every point of term_axes(n), row-major
  std::vector<T> initial;      // of a scatter: the output before
  std::vector<std::vector<std::optional<int64_t>>> positions;  // of a scatter, at the same points
};

// The result of one axis: `outer` x extent x `inner` elements.
struct AlongAxis {
  int64_t outer = 1, extent = 1, inner = 1;

  AlongAxis(const std::vector<int64_t>& shape, int axis)
      : extent(shape[static_cast<size_t>(axis)]) {
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != static_cast<size_t>(axis))
        (d < static_cast<size_t>(axis) ? outer : inner) *= shape[d];
  }
  size_t at(int64_t o, int64_t k, int64_t i) const {
    return static_cast<size_t>((o * extent + k) * inner + i);
  }
};

// combine(a, b): the sum so far and the next term. `identity`: of the combiner.
template <class T, class Combine>
std::vector<T> scanned(const Scan& scan, const Terms<T>& terms, T identity,
                       const Combine& combine) {
  std::vector<T> out(terms.values.size());
  const AlongAxis along(terms.shape, scan.axis);
  for (int64_t o = 0; o < along.outer; ++o)
    for (int64_t i = 0; i < along.inner; ++i) {
      T sum = identity;
      for (int64_t k = 0; k < along.extent; ++k) {
        const size_t at = along.at(o, scan.reverse ? along.extent - 1 - k : k, i);
        const T with = combine(sum, terms.values[at]);
        out[at] = scan.exclusive ? sum : with;
        sum = with;
      }
    }
  return out;
}

template <class T, class Combine>
std::vector<T> scattered(const Node& n, const Scatter& scatter, const Terms<T>& terms,
                         const Combine& combine) {
  std::vector<T> out = terms.initial;
  const std::vector<Axis> axes = term_axes(n);
  std::vector<int64_t> at(axes.size(), 0);
  for (size_t term = 0; term < terms.values.size(); ++term) {
    std::vector<int64_t> to = at;
    bool inside = true;
    for (size_t p = 0; p < scatter.positions.size(); ++p) {
      inside = inside && terms.positions[p][term].has_value();
      to[static_cast<size_t>(scatter.positions[p].dim)] = terms.positions[p][term].value_or(0);
    }
    size_t flat = 0;
    for (size_t d = 0; d < terms.shape.size(); ++d)
      flat = flat * static_cast<size_t>(terms.shape[d]) + static_cast<size_t>(to[d]);
    if (inside)
      out[flat] =
          n.combine == Combiner::none ? terms.values[term] : combine(out[flat], terms.values[term]);
    for (size_t d = axes.size(); d-- > 0;) {
      if (++at[d] < axes[d].extent) break;
      at[d] = 0;
    }
  }
  return out;
}

// Positions of the terms in order. The reduce axis is the last, so those of one row are contiguous.
template <class T>
std::vector<T> sorted(const Node& n, const Sort& sort, const Terms<T>& terms) {
  const auto count = static_cast<size_t>(n.axes.back().extent);
  const auto key = [](T x) {
    if constexpr (std::numeric_limits<T>::has_infinity)
      return std::isnan(x) ? std::numeric_limits<T>::infinity() : x;
    else
      return x;
  };
  const AlongAxis along(terms.shape, sort.axis);
  std::vector<T> out(static_cast<size_t>(along.outer * along.extent * along.inner));
  std::vector<int64_t> order(count);
  for (size_t row = 0; row * count < terms.values.size(); ++row) {
    const T* values = terms.values.data() + row * count;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const T x = key(values[a]), y = key(values[b]);
      return sort.descending ? x > y : x < y;
    });
    const auto outer = static_cast<int64_t>(row) / along.inner,
               inner = static_cast<int64_t>(row) % along.inner;
    for (int64_t k = 0; k < along.extent; ++k)
      out[along.at(outer, k, inner)] = static_cast<T>(order[static_cast<size_t>(k)]);
  }
  return out;
}

template <class T, class Combine>
std::vector<T> apply_kind(const Node& n, const Terms<T>& terms, T identity,
                          const Combine& combine) {
  if (const auto* scan = std::get_if<Scan>(&n.kind))
    return scanned(*scan, terms, identity, combine);
  if (const auto* scatter = std::get_if<Scatter>(&n.kind))
    return scattered(n, *scatter, terms, combine);
  return sorted(n, std::get<Sort>(n.kind), terms);
}

}  // namespace assay::ir
