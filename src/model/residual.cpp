#include "model/residual.h"

#include <algorithm>
#include <cmath>

namespace assay::model {

namespace {

struct Line {
  double one, inefficiency, near, far, otherwise, issue, halving;
};

constexpr Line kLow = {0.041, 0.035, 0, 0.017, 0.39, 0, 0.017};
constexpr Line kHigh = {-0.197, 0.029, 0.29, 0.073, 0.055, 0.528, 0.055};
constexpr double kLeast = 0.05;
constexpr double kLeastEfficiency = 0.02;  // below, programs are as bad as each other

}  // namespace

Residual residual_of(const Certainty& c) {
  const double inefficiency = std::log(1 / std::clamp(c.efficiency, kLeastEfficiency, 1.0));
  const auto part = [](double x) { return std::clamp(x, 0.0, 1.0); };
  const auto at = [&](const Line& l) {
    return std::max(kLeast, l.one + l.inefficiency * inefficiency + l.near * part(c.near) + l.far * part(c.far) + l.otherwise * part(1 - c.vector) +
                                l.issue * part(c.issue) + l.halving * c.halvings);
  };
  return {std::exp(-at(kLow)), std::exp(at(kHigh))};
}

}  // namespace assay::model
