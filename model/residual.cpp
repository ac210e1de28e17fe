#include "model/residual.h"

#include <algorithm>
#include <cmath>

namespace assay::model {

namespace {

struct Coefficients {
  double one, inefficiency, private_transfers, shared_transfers, other_than_vector, issue, halving,
      contention, set_conflicts, blocks;
};

constexpr Coefficients kLow = {-2.765, 0.471, 0.293, 0.154, 0.556, 0, 0.007, 2.044, 0.677, 0};
constexpr Coefficients kHigh = {-4.818, 0.057, 0.802, 2.326, 2.131, 1.915, 0.205, 3, 1.456, 0.733};
constexpr double kLeast = 0.05, kMost = 1.5;  // kMost: of the exponent
constexpr double kLeastEfficiency = 0.02;     // below, all programs are equally bad

}  // namespace

double p_norm(std::span<const double> parts, double p) {
  const double most = std::ranges::max(parts);
  if (most <= 0) return 0;
  double sum = 0;
  for (const double x : parts) sum += std::pow(x / most, p);
  return most * std::pow(sum, 1 / p);
}

Residual residual_of(const ResidualInputs& c) {
  const double inefficiency = std::log(1 / std::clamp(c.efficiency, kLeastEfficiency, 1.0));
  const auto part = [](double x) { return std::clamp(x, 0.0, 1.0); };
  const auto at = [&](const Coefficients& l) {
    const double exponent =
        l.one + l.inefficiency * inefficiency + l.private_transfers * part(c.private_transfers) +
        l.shared_transfers * part(c.shared_transfers) + l.other_than_vector * part(1 - c.vector) +
        l.issue * part(c.issue) + l.halving * c.width_halvings + l.contention * part(c.contention) +
        l.set_conflicts * part(c.set_conflicts) + (c.blocks ? l.blocks : 0);
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
