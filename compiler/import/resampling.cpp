#include "compiler/import/resampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

namespace assay::import {
namespace {

constexpr std::array kModes = {"nearest", "linear", "cubic"};
constexpr std::array kCoordinates = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
constexpr std::array kNearest = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
constexpr int64_t kMostParts = 4096;  // of the denominators tried for the slope

template <size_t n>
bool among(const std::array<const char*, n>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Where output position x lies in the input. `length` is the stretched extent before rounding.
double coordinate(const std::string& mode, const Stretch& d, int64_t x) {
  const double at = static_cast<double>(x), in = static_cast<double>(d.in), length = d.scale * in;
  const double half_pixel = (at + 0.5) / d.scale - 0.5;
  if (mode == "pytorch_half_pixel") return length > 1 ? half_pixel : 0;
  if (mode == "align_corners") return length == 1 ? 0 : at * (in - 1) / (length - 1);
  if (mode == "asymmetric") return at / d.scale;
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / d.scale;
  if (mode == "half_pixel_symmetric")
    return in / 2 * (1 - static_cast<double>(d.out) / length) + half_pixel;
  if (mode == "tf_crop_and_resize")
    return length > 1 ? d.start * (in - 1) + at * (d.end - d.start) * (in - 1) / (length - 1)
                      : (d.start + d.end) / 2 * (in - 1);
  return half_pixel;
}

double nearest(const std::string& mode, double x) {
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return std::ceil(x - 0.5);
}

// Keys' kernel at distance t.
double cubic(double a, double t) {
  t = std::abs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  if (t < 2) return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  return 0;
}

using Weights = std::map<int64_t, double>;  // input position -> weight

double weight_at(const Sampling& s, double distance) {
  return s.mode == "cubic" ? cubic(s.cubic_a, distance) : std::max(0.0, 1 - std::abs(distance));
}

// Positions beyond the border are the border's, unless they are excluded: then the rest is scaled
// up.
Weights weights_at(const Sampling& s, const Stretch& d, int64_t x) {
  const double at = coordinate(s.coordinates, d, x);
  if (s.coordinates == "tf_crop_and_resize" && (at < 0 || at > static_cast<double>(d.in - 1)))
    return {};
  const auto inside = [&](double v) {
    return static_cast<int64_t>(std::clamp(v, 0.0, static_cast<double>(d.in - 1)));
  };
  if (s.mode == "nearest") return {{inside(nearest(s.nearest, at)), 1.0}};
  Weights weights;
  double sum = 0;
  const double shrink = s.antialias ? std::min(d.scale, 1.0) : 1;
  const int reach =
      static_cast<int>(std::min(std::ceil((s.mode == "cubic" ? 2 : 1) / shrink), 0x1p24));
  for (int k = 1 - reach; k <= reach; ++k) {
    const double place = std::floor(at) + k, weight = weight_at(s, (at - place) * shrink);
    const bool outside = place < 0 || place > static_cast<double>(d.in - 1);
    if (weight == 0 || (s.exclude_outside && outside)) continue;
    weights[inside(place)] += weight;
    sum += weight;
  }
  if (s.exclude_outside || s.antialias)
    for (auto& [place, weight] : weights) weight /= sum;
  return weights;
}

struct Fraction {
  int64_t p = 0, d = 1;
};

// Simple fractions near `value`: the convergents of its continued fraction.
std::vector<Fraction> fractions_near(double value) {
  std::vector<Fraction> found;
  Fraction before{1, 0}, last{static_cast<int64_t>(std::floor(value)), 1};
  double rest = value - std::floor(value);
  found.push_back(last);
  for (int i = 0; i < 12 && rest > 1e-9; ++i) {
    const double inverse = 1 / rest;
    const int64_t whole = static_cast<int64_t>(std::floor(inverse));
    const Fraction next{whole * last.p + before.p, whole * last.d + before.d};
    if (next.d > kMostParts) break;
    found.push_back(next);
    before = last;
    last = next;
    rest = inverse - std::floor(inverse);
  }
  return found;
}

// The taps that cover all weights with this slope: the largest offset whose base is never beyond
// the first weight, and as many taps as the last weight then needs.
Taps cover(const std::vector<Weights>& weights, Fraction slope) {
  Taps taps{slope.p, slope.d, INT64_MAX, 1, {}};
  for (size_t x = 0; x < weights.size(); ++x)
    if (!weights[x].empty())
      taps.offset = std::min(taps.offset, slope.d * (weights[x].begin()->first + 1) - 1 -
                                              slope.p * static_cast<int64_t>(x));
  if (taps.offset == INT64_MAX) taps.offset = 0;
  for (size_t x = 0; x < weights.size(); ++x)
    if (!weights[x].empty()) {
      const int64_t at = slope.p * static_cast<int64_t>(x) + taps.offset;
      const int64_t base = at >= 0 ? at / slope.d : -((-at + slope.d - 1) / slope.d);
      taps.count = std::max(taps.count, weights[x].rbegin()->first - base + 1);
    }
  return taps;
}

}  // namespace

bool Taps::plain() const {
  return count == 1 && std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1; });
}

std::string fault_of(const Sampling& s) {
  if (!among(kModes, s.mode)) return "mode " + s.mode;
  if (!among(kCoordinates, s.coordinates)) return "coordinate_transformation_mode " + s.coordinates;
  if (!among(kNearest, s.nearest)) return "nearest_mode " + s.nearest;
  return "";
}

Taps taps_of(const Sampling& s, const Stretch& d) {
  std::vector<Weights> weights;
  for (int64_t x = 0; x < d.out; ++x) weights.push_back(weights_at(s, d, x));
  std::vector<Fraction> slopes = {{d.in / std::gcd(d.in, d.out), d.out / std::gcd(d.in, d.out)}};
  for (const double slope :
       {1 / d.scale,
        d.out > 1 ? coordinate(s.coordinates, d, 1) - coordinate(s.coordinates, d, 0) : 0})
    if (slope >= 0 && slope <= static_cast<double>(d.in))
      for (const Fraction& f : fractions_near(slope)) slopes.push_back(f);
  std::optional<Taps> best;
  for (const Fraction& slope : slopes) {
    const Taps taps = cover(weights, slope);
    if (!best || taps.count < best->count ||
        (taps.count == best->count && taps.slope_d < best->slope_d))
      best = taps;
  }
  best->weights.assign(static_cast<size_t>(d.out * best->count), 0);
  for (int64_t x = 0; x < d.out; ++x) {
    const int64_t at = best->slope_p * x + best->offset;
    const int64_t base =
        at >= 0 ? at / best->slope_d : -((-at + best->slope_d - 1) / best->slope_d);
    for (const auto& [place, weight] : weights[static_cast<size_t>(x)])
      best->weights[static_cast<size_t>(x * best->count + place - base)] = weight;
  }
  return *best;
}

}  // namespace assay::import
