#include "probe/inference/sharing_contrast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "probe/inference/cyclic_scan.h"

namespace assay::probe {
namespace {

constexpr double kInside = 0.7;    // of the knee's start
constexpr double kBeyond = 1.1;    // of its end
constexpr double kNarrow = 1.3;    // times its start: one unit alone still hits nearly always
constexpr double kPlainly = 2;     // ratio of times
constexpr double kFiner = 1.0905;  // an eighth of an octave

}  // namespace

double sharing_contrast(std::span<const CurvePoint> chase, double bytes, int units) {
  if (chase.empty()) return 1;
  const std::vector<CurvePoint> curve = rising(chase);
  return time_at(curve, bytes * units) / time_at(curve, bytes);
}

double sharing_footprint(const KneePoint& knee, std::span<const CurvePoint> chase, int units) {
  const double least = kInside * knee.from, each = kBeyond * knee.to / units;
  if (each <= kNarrow * knee.from) return std::max(each, std::sqrt(each * knee.from));
  double best = least, most = sharing_contrast(chase, least, units);
  for (double bytes = least; bytes < knee.to && most < kPlainly; bytes *= kFiner)
    if (const double contrast = sharing_contrast(chase, bytes, units); contrast > most)
      best = bytes, most = contrast;
  return best;
}

double alone_time(std::span<const CurvePoint> chase, double bytes) {
  return chase.empty() ? std::numeric_limits<double>::infinity() : time_at(rising(chase), bytes);
}

double longest_of_hits(std::span<const CurvePoint> chase, double bytes, int units) {
  if (chase.empty()) return std::numeric_limits<double>::infinity();
  const std::vector<CurvePoint> curve = rising(chase);
  const double alone = time_at(curve, bytes), all = time_at(curve, bytes * units);
  return std::max(kCrowded * alone, std::sqrt(alone * all));
}

}  // namespace assay::probe
