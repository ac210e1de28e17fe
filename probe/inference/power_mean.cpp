#include "probe/inference/power_mean.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::probe {
namespace {

double error_of(std::span<const UnitsPoint> points, const PowerMean& fit) {
  double sum = 0;
  for (const UnitsPoint& p : points) {
    const double e = std::log(power_mean(p.units, fit) / p.bandwidth);
    sum += e * e;
  }
  return std::sqrt(sum / static_cast<double>(points.size()));
}

// b1 such that b(1) is what one unit reached.
double per_unit_for(double one, double total, double p) {
  const double rest = std::pow(one, -p) - std::pow(total, -p);
  return rest > 0 ? std::pow(rest, -1 / p) : one;
}

struct Grid {
  double low, high;
  int steps;
};

PowerMean search(std::span<const UnitsPoint> points, Grid total, Grid sharpness) {
  PowerMean best{0, 0, 0, std::numeric_limits<double>::infinity(), false};
  for (int i = 0; i <= total.steps; ++i)
    for (int j = 0; j <= sharpness.steps; ++j) {
      PowerMean fit;
      fit.total = total.low * std::pow(total.high / total.low, double(i) / total.steps);
      fit.sharpness =
          sharpness.low * std::pow(sharpness.high / sharpness.low, double(j) / sharpness.steps);
      fit.per_unit = per_unit_for(points[0].bandwidth, fit.total, fit.sharpness);
      fit.error = error_of(points, fit);
      if (fit.error < best.error) best = fit;
    }
  return best;
}

}  // namespace

double power_mean(double units, const PowerMean& fit) {
  return std::pow(
      std::pow(units * fit.per_unit, -fit.sharpness) + std::pow(fit.total, -fit.sharpness),
      -1 / fit.sharpness);
}

std::optional<PowerMean> fit_power_mean(std::span<const UnitsPoint> points) {
  if (points.size() < 2 || points[0].units != 1) return std::nullopt;
  double reached = 0;
  for (const UnitsPoint& p : points) reached = std::max(reached, p.bandwidth);
  if (points.size() < 3) {
    PowerMean fit{points[0].bandwidth, reached, kSharpest, 0, false};
    fit.error = error_of(points, fit);
    return fit;
  }
  const PowerMean coarse = search(points, {reached, reached * 4, 60}, {1, kSharpest, 40});
  PowerMean fit = search(
      points, {std::max(reached, coarse.total / 1.05), coarse.total * 1.05, 40},
      {std::max(1.0, coarse.sharpness / 1.1), std::min(kSharpest, coarse.sharpness * 1.1), 20});
  fit.identified =
      fit.total < reached * 1.5;  // else the curve never bent, and B lies beyond what was measured
  return fit;
}

}  // namespace assay::probe
