#include "model/retention.h"

#include <algorithm>
#include <cmath>

namespace assay::model {

namespace {

// How far x lies on the way from a to b, in logarithms.
double way(double x, double a, double b) { return std::log(x / a) / std::log(b / a); }

}  // namespace

double held(const Level& cache, double bytes, double end) {
  const double from = cache.capacity.value, middle = cache.middle, kept = cache.middle_held;
  if (bytes <= from) return 1;
  if (bytes >= end || end <= from) return 0;
  if (middle <= from || middle >= end) return 1 - way(bytes, from, end);
  return bytes < middle ? 1 - (1 - kept) * way(bytes, from, middle) : kept * (1 - way(bytes, middle, end));
}

double left_behind(const Level& cache, double missed, double touched, double foreign, double end) {
  double low = cache.capacity.value, high = std::max(end, missed);  // bytes of the walk: its misses grow with it
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    ((1 - held(cache, middle, end)) * middle < missed ? low : high) = middle;
  }
  return held(cache, std::min(touched, low) + foreign, end);
}

}  // namespace assay::model
