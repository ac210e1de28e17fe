// Bandwidth against active units as a smooth minimum of "n units, each b1" and the memory's limit
// B:
//
//     b(n) = ((n b1)^-p + B^-p)^(-1/p)
//
// p -> infinity is min(n b1, B); p = 1 the harmonic sum. b1 is what one unit reached; b(1) would be
// slightly below it when B is near, which the fit takes into account. B and p minimise the squared
// log error over a grid refined once. Fewer than three distinct n do not determine both B and p. B
// is then what all units reach, p the largest that fits, and `identified` is false.
#pragma once

#include <optional>
#include <span>

namespace assay::probe {

inline constexpr double kSharpest = 16;  // the largest p

struct UnitsPoint {
  double units = 0, bandwidth = 0;
};

struct PowerMean {
  double per_unit = 0, total = 0, sharpness = 0;  // b1, B, p
  double error = 0;                               // root mean squared log error
  bool identified = false;
};

double power_mean(double units, const PowerMean& fit);

// `points` by ascending units, the first with units == 1; nullopt: fewer than two points.
std::optional<PowerMean> fit_power_mean(std::span<const UnitsPoint> points);

}  // namespace assay::probe
