#include "model/residual.h"

#include <algorithm>
#include <cmath>

namespace assay::model {

namespace {

struct Line {
  double one, inefficiency, near, far, otherwise, issue, halving, contended, sets, blocks;
};

constexpr Line kLow = {-2.765, 0.471, 0.293, 0.154, 0.556, 0, 0.007, 2.044, 0.677, 0};
constexpr Line kHigh = {-4.818, 0.057, 0.802, 2.326, 2.131, 1.915, 0.205, 3, 1.456, 0.733};
constexpr double kLeast = 0.05, kMost = 1.5;  // kMost: of the exponent
constexpr double kLeastEfficiency = 0.02;     // below, programs are as bad as each other

}  // namespace

double joined(std::span<const double> parts, double p) {
  const double most = std::ranges::max(parts);
  if (most <= 0) return 0;
  double sum = 0;
  for (const double x : parts) sum += std::pow(x / most, p);
  return most * std::pow(sum, 1 / p);
}

Residual residual_of(const Certainty& c) {
  const double inefficiency = std::log(1 / std::clamp(c.efficiency, kLeastEfficiency, 1.0));
  const auto part = [](double x) { return std::clamp(x, 0.0, 1.0); };
  const auto at = [&](const Line& l) {
    const double exponent =
        l.one + l.inefficiency * inefficiency + l.near * part(c.near) + l.far * part(c.far) +
        l.otherwise * part(1 - c.vector) + l.issue * part(c.issue) + l.halving * c.halvings +
        l.contended * part(c.contended) + l.sets * part(c.sets) + (c.blocks ? l.blocks : 0);
    return std::max(kLeast, std::exp(std::min(kMost, exponent)));
  };
  return {std::exp(-at(kLow)), std::exp(at(kHigh))};
}

Residual residual_of_waves(double efficiency, double waiting) {
  constexpr double kLowOne = 0.206, kLowInefficiency = -0.052, kLowWaiting = 2.51, kHighOne = 0.435,
                   kHighInefficiency = 0.272, kHighWaiting = -0.111;
  const double inefficiency = std::log(1 / std::clamp(efficiency, kLeastEfficiency, 1.0)),
               part = std::clamp(waiting, 0.0, 1.0);
  return {
      std::exp(-std::max(kLeast, kLowOne + kLowInefficiency * inefficiency + kLowWaiting * part)),
      std::exp(
          std::max(kLeast, kHighOne + kHighInefficiency * inefficiency + kHighWaiting * part))};
}

}  // namespace assay::model
