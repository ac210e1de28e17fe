#include "toolkit/accuracy_points.h"

#include <algorithm>
#include <cstddef>

namespace assay::toolkit {

bool covered(const Point& p) {
  const double ratio = p.measured / p.predicted;
  return ratio >= p.interval.low && ratio <= p.interval.high;
}

double half_width(const Point& p) { return (p.interval.high - p.interval.low) / 2; }

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace assay::toolkit
