// Times that overlap, joined: (sum t^p)^(1/p) with the one exponent of constants.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "model/constants.h"

namespace assay::model {

// At least the longest, at most the sum. None of them may be below 0.
inline double overlapped(std::span<const double> times) {
  static_assert(kOverlapExponent == 3);
  const double most = std::ranges::max(times);
  if (most <= 0) return 0;
  double sum = 0;
  for (const double t : times) sum += t / most * (t / most) * (t / most);
  return most * std::cbrt(sum);
}

// The part of a latency that a core hides behind the instructions of its reorder window.
//   hidden = window / issue rate, s
inline double hidden_fraction(double latency, double hidden) {
  return latency <= hidden ? 1 : hidden / latency;
}

}  // namespace assay::model
