#include "model/residual.h"

#include <algorithm>
#include <cmath>

namespace assay::model {

namespace {

struct Line {
  double one, inefficiency, near, far, stores, halving;
};

constexpr Line kLow = {0.055, 0.087, 0.37, 0.30, 0.09, 0.069};
constexpr Line kHigh = {0.059, 0.071, 0.29, 0.06, 0.57, 0.041};
constexpr double kLeast = 0.05;
constexpr double kLeastEfficiency = 0.02;  // below, programs are as bad as each other

}  // namespace

Residual residual_of(const Certainty& c) {
  const double inefficiency = std::log(1 / std::clamp(c.efficiency, kLeastEfficiency, 1.0));
  const auto part = [](double x) { return std::clamp(x, 0.0, 1.0); };
  const auto at = [&](const Line& l) {
    return std::max(kLeast, l.one + l.inefficiency * inefficiency + l.near * part(c.near) + l.far * part(c.far) + l.stores * part(c.stores) + l.halving * c.halvings);
  };
  return {std::exp(-at(kLow)), std::exp(at(kHigh))};
}

}  // namespace assay::model
