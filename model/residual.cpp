#include "model/residual.h"

#include <algorithm>
#include <cmath>

namespace assay::model {

double p_norm(std::span<const double> parts, double p) {
  const double most = std::ranges::max(parts);
  if (most <= 0) return 0;
  double sum = 0;
  for (const double x : parts) sum += std::pow(x / most, p);
  return most * std::pow(sum, 1 / p);
}

}  // namespace assay::model
