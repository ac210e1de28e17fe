#include "model/residual.h"

#include <algorithm>
#include <cmath>

namespace assay::model {

namespace {

struct Row {
  double low, low_memory;                                // ln(predicted / measured)
  double high, high_memory, high_stores, high_narrow;    // ln(measured / predicted)
};

constexpr Row kKept = {0.16, 0.52, 0.25, 0.10, 0, 0};
constexpr Row kOther = {0.58, 0, 0.08, 1.20, 0.59, 0.34};

}  // namespace

Residual residual_of(const Certainty& c) {
  const Row& r = c.kept && !c.narrow ? kKept : kOther;
  const double memory = std::clamp(c.memory, 0.0, 1.0), stores = std::clamp(c.stores, 0.0, 1.0);
  return {std::exp(-(r.low + r.low_memory * memory)),
          std::exp(r.high + r.high_memory * memory + r.high_stores * stores + (c.narrow ? r.high_narrow : 0))};
}

}  // namespace assay::model
