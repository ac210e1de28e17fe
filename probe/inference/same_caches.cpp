#include <algorithm>
#include <span>
#include <vector>

#include "probe/inference/path.h"
#include "probe/inference/stats.h"

namespace assay::probe {
namespace {

constexpr double kAlike = 1.15;  // ratio within the first cache
// Ratio of a shorter time in the caches behind it: a path's own cache larger than the first would
// show there.
constexpr double kBehind = 1.35;
// Ratio of a longer time there: co-tenants only ever make a hop longer.
constexpr double kUnsteady = 2;
// Of the first cache: an image's rows have a power-of-two stride and conflict before it is full.
constexpr double kWellWithin = 0.6;
// Footprints at each end of the first cache: a path's own cache would hold the smallest alone.
constexpr size_t kEnd = 3;
constexpr size_t kFewest = 4;  // footprints in a cache behind it, at least

struct Both {
  double path = 0, plain = 0;  // seconds
};

// A footprint that is slower than a larger one was disturbed.
std::vector<CurvePoint> undisturbed(std::vector<CurvePoint> curve) {
  for (size_t i = curve.size(); i-- > 1;)
    curve[i - 1].seconds = std::min(curve[i - 1].seconds, curve[i].seconds);
  return curve;
}

std::vector<Both> on_plateau(const PathCurves& curves, const Plateau& p) {
  std::vector<Both> out;
  for (const CurvePoint& a : curves.path)
    for (const CurvePoint& b : curves.plain)
      if (a.bytes == b.bytes && a.bytes >= p.first && a.bytes <= p.last)
        out.push_back({a.seconds, b.seconds});
  return out;
}

Both middle(std::span<const Both> points) {
  std::vector<double> path, plain;
  for (const Both& p : points) {
    path.push_back(p.path);
    plain.push_back(p.plain);
  }
  return {quantile(std::move(path), 0.5), quantile(std::move(plain), 0.5)};
}

bool within(double a, double b, double times) { return a <= b * times && b <= a * times; }

// The extra latency of a hop over plain memory is about the same in both halves. Where it is not
// steady the result is unknown.
bool is_longer_by(std::span<const Both> points, double longer) {
  const auto [least, most] = std::minmax_element(
      points.begin(), points.end(), [](const Both& a, const Both& b) { return a.plain < b.plain; });
  if (most->plain > kUnsteady * least->plain) return true;
  const size_t half = (points.size() + 1) / 2;
  for (const auto part : {points.first(half), points.last(half)})
    if (const Both here = middle(part);
        here.path * kBehind < here.plain + longer || here.path > kUnsteady * (here.plain + longer))
      return false;
  return true;
}

}  // namespace

std::optional<double> extra_path_latency(const PathCurves& measured, const Levels& plain) {
  const PathCurves curves{undisturbed(measured.path), undisturbed(measured.plain)};
  if (plain.plateaus.size() < 2) return std::nullopt;
  // Footprints below the first plateau lie in that cache, too.
  const std::vector<Both> near =
      on_plateau(curves, {0, kWellWithin * plain.plateaus.front().last, 0});
  if (near.size() < 2 * kEnd) return std::nullopt;
  const Both all = middle(near);
  const double longer = all.path - all.plain;
  if (all.path * kAlike < all.plain) return std::nullopt;
  for (const auto end : {std::span(near).first(kEnd), std::span(near).last(kEnd)})
    if (const Both here = middle(end); !within(here.path, here.plain + longer, kAlike))
      return std::nullopt;
  for (size_t j = 1; j + 1 < plain.plateaus.size(); ++j) {
    const std::vector<Both> points = on_plateau(curves, plain.plateaus[j]);
    if (points.size() < kFewest || middle(points).plain > kUnsteady * plain.plateaus[j].seconds)
      continue;  // co-tenants used it during the measurement
    if (!is_longer_by(points, longer)) return std::nullopt;
  }
  return longer;
}

}  // namespace assay::probe
