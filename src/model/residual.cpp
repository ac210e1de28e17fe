#include "model/residual.h"

#include <algorithm>
#include <cmath>

namespace assay::model {

namespace {

struct Line {
  double one, inefficiency, memory, stores, narrow;
};

constexpr Line kLow = {0.10, 0.08, 0.14, 0, 0.05};
constexpr Line kHigh = {-0.02, 0.05, 0.79, 0.99, 0.30};
constexpr double kLeast = 0.05;
constexpr double kLeastEfficiency = 0.02;  // below, programs are as bad as each other

}  // namespace

Residual residual_of(const Certainty& c) {
  const double inefficiency = std::log(1 / std::clamp(c.efficiency, kLeastEfficiency, 1.0));
  const double memory = std::clamp(c.memory, 0.0, 1.0), stores = std::clamp(c.stores, 0.0, 1.0);
  const auto at = [&](const Line& l) {
    return std::max(kLeast, l.one + l.inefficiency * inefficiency + l.memory * memory + l.stores * stores + (c.narrow ? l.narrow : 0));
  };
  return {std::exp(-at(kLow)), std::exp(at(kHigh))};
}

}  // namespace assay::model
