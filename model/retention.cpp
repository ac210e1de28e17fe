#include "model/retention.h"

#include <algorithm>
#include <cmath>

namespace assay::model {

namespace {

// How far x lies on the way from a to b, in logarithms.
double way(double x, double a, double b) { return std::log(x / a) / std::log(b / a); }

}  // namespace

double hit_fraction(const HitCurve& f, double bytes) {
  if (bytes <= f.from) return 1;
  if (bytes >= f.to || f.to <= f.from) return 0;
  if (f.middle <= f.from || f.middle >= f.to) return 1 - way(bytes, f.from, f.to);
  return bytes < f.middle ? 1 - (1 - f.half) * way(bytes, f.from, f.middle)
                          : f.half * (1 - way(bytes, f.middle, f.to));
}

double hit_fraction(const Level& cache, double bytes, double end) {
  return hit_fraction(HitCurve{cache.capacity.value, cache.middle, cache.middle_hits, end}, bytes);
}

double retained_behind(const Level& cache, double missed, double touched, double foreign,
                       double end) {
  double low = cache.capacity.value,
         high = std::max(end, missed);  // bytes of the walk: its misses grow with it
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    ((1 - hit_fraction(cache, middle, end)) * middle < missed ? low : high) = middle;
  }
  return hit_fraction(cache, std::min(touched, low) + foreign, end);
}

}  // namespace assay::model
