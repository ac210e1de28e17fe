#include "model/bandwidth.h"

#include <cmath>
#include <limits>

namespace assay::model {

double shared_bandwidth(double n, double b1, double limit, double p) {
  const double a = limit / (n * b1);  // scaled so that no power over- or underflows
  return limit * std::pow(std::pow(a, p) + 1.0, -1.0 / p);
}

double little_bound(double in_flight_bytes, double latency) {
  return latency > 0 ? in_flight_bytes / latency : std::numeric_limits<double>::infinity();
}

}  // namespace assay::model
