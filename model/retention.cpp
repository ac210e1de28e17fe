#include "model/retention.h"

#include <algorithm>
#include <cmath>

namespace assay::model {

namespace {

// The position of x between a and b, 0 to 1, in logarithms.
double log_position(double x, double a, double b) { return std::log(x / a) / std::log(b / a); }

}  // namespace

double hit_fraction(const HitCurve& f, double bytes) {
  if (bytes <= f.from) return 1;
  if (bytes >= f.to || f.to <= f.from) return 0;
  if (f.middle <= f.from || f.middle >= f.to) return 1 - log_position(bytes, f.from, f.to);
  return bytes < f.middle ? 1 - (1 - f.half) * log_position(bytes, f.from, f.middle)
                          : f.half * (1 - log_position(bytes, f.middle, f.to));
}

double hit_fraction(const Level& cache, double bytes, double end) {
  return hit_fraction(HitCurve{cache.capacity.value, cache.middle, cache.middle_hits, end}, bytes);
}

double retained_after(const Level& cache, double missed, double touched, double foreign,
                      double end) {
  double low = cache.capacity.value,
         high = std::max(end, missed);  // bytes of the walk: its misses grow with it
  // Only the smaller of `touched` and `low` counts, and `low` only grows. Where nothing
  // was missed it stays the capacity.
  const int steps = missed > 0 ? 40 : 0;
  for (int i = 0; i < steps && low < touched; ++i) {
    const double middle = 0.5 * (low + high);
    ((1 - hit_fraction(cache, middle, end)) * middle < missed ? low : high) = middle;
  }
  return hit_fraction(cache, std::min(touched, low) + foreign, end);
}

}  // namespace assay::model
