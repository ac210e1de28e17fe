// Memory levels from a latency curve: latency of a random single-cycle chase by its footprint.
//
// The monotone log-latency curve is cut into runs (segment.h). A run at least kMinOctaves wide is a
// plateau: a level. Narrower ones are the ramp between two. Plateaus that differ by less than
// kMinStep are one level (a smeared cache, not a new one). The threshold is kQuietStep where the
// curve is smooth, or the system declares the caches. Between plateaus a and b lies a knee.
//
//   from:      the largest footprint up to which latency stays below level_a * (1 + kNear), or a
//              quarter of the step
//
//   to:        the smallest footprint from which it stays above level_b / (1 + kNear)
//
//   capacity:  where it crosses sqrt(level_a * level_b), interpolated in log-log
//
// A sharp knee has from ~ to. Hashed, shared or randomly mapped caches have wide ones.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probe/inference/stats.h"

namespace assay::probe {

inline constexpr double kMinOctaves = 0.7;
inline constexpr double kNear = 0.12;
// The least ratio of two levels; the second where there is hardly any noise.
inline constexpr double kMinStep = 1.3;
inline constexpr double kQuietStep = 1.15;

struct CurvePoint {
  double bytes = 0;
  double seconds = 0;
  bool operator==(const CurvePoint&) const = default;
};

struct Plateau {
  double first = 0, last = 0;  // footprints in bytes, both on the plateau
  double seconds = 0;          // latency
  bool operator==(const Plateau&) const = default;
};

struct KneePoint {
  double from = 0, to = 0, capacity = 0;  // bytes
  bool operator==(const KneePoint&) const = default;
};

// knees.size() + 1 == plateaus.size(); empty when there is no curve.
struct Levels {
  std::vector<Plateau> plateaus;
  std::vector<KneePoint> knees;
  size_t shown = 0;  // plateaus of the curve alone
  bool operator==(const Levels&) const = default;
};

// One point per footprint among `blocks`, by their `bytes`.
std::vector<CurvePoint> curve_of(std::span<const Observation> blocks, Estimator estimator);

// `curve` by ascending bytes, at least 3 points for any knee. `expected`: plateaus that are known
// from elsewhere. A cache with co-tenants has a short and slanting one, so the flattest stretches
// of the ramps count as those that are missing. `sizes`: of the caches that the system declares;
// with one or none any number of levels is possible. Where co-tenants left extra steps, the
// plateaus whose knees are nearest to these sizes stay.
Levels find_levels(std::span<const CurvePoint> curve, size_t expected = 0,
                   std::span<const double> sizes = {});

// The first position where a curve of steps jumps by at least `min_ratio` and stays there (line
// sizes, register files); nullopt: it never does.
std::optional<size_t> find_step(std::span<const double> values, double min_ratio);

}  // namespace assay::probe
