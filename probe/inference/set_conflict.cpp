#include "probe/inference/set_conflict.h"

#include <algorithm>
#include <cmath>

#include "probe/inference/cyclic_scan.h"

namespace assay::probe {
namespace {

constexpr double kInside = 0.7;    // of where the knee begins
constexpr double kBeyond = 1.1;    // of where it ends
constexpr double kNarrow = 1.3;    // so far into it one unit alone still finds nearly all
constexpr double kPlainly = 2;     // times as long
constexpr double kFiner = 1.0905;  // an eighth of an octave

}  // namespace

double told_apart(std::span<const CurvePoint> chase, double bytes, int units) {
  if (chase.empty()) return 1;
  const std::vector<CurvePoint> curve = rising(chase);
  return time_at(curve, bytes * units) / time_at(curve, bytes);
}

double crowding(const KneePoint& knee, std::span<const CurvePoint> chase, int units) {
  const double least = kInside * knee.from, each = kBeyond * knee.to / units;
  if (each <= kNarrow * knee.from) return std::max(least, each);
  double best = least, most = told_apart(chase, least, units);
  for (double bytes = least; bytes < knee.to && most < kPlainly; bytes *= kFiner)
    if (const double told = told_apart(chase, bytes, units); told > most) best = bytes, most = told;
  return best;
}

}  // namespace assay::probe
