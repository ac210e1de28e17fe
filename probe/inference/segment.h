// Change points of a curve by penalised segmentation: the partition into runs of constant mean that
// minimises
//
//     sum over runs of  sum_i (y_i - mean)^2   +   penalty * (number of runs)
//
// It is solved exactly by dynamic programming in O(n^2) (optimal partitioning; Jackson et al. 2005,
// IEEE Signal Processing Letters 12(2)). It is global, so one outlier can not declare a jump the
// way an online detector does. On log values a step is a ratio, and one penalty fits every scale.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay::probe {

struct Segment {
  size_t begin = 0, end = 0;  // points [begin, end)
  double mean = 0;
  bool operator==(const Segment&) const = default;
};

std::vector<Segment> segment(std::span<const double> y, double penalty);

// Standard deviation of the noise from differences of neighbours, median based, so that the steps
// themselves do not count: 1.4826 median|y_{i+1} - y_i| / sqrt(2).
double noise_of(std::span<const double> y);

// Nearest non-decreasing curve in least squares (pool adjacent violators; Barlow et al. 1972):
// latency never falls as the footprint grows.
std::vector<double> isotonic(std::span<const double> y);

}  // namespace assay::probe
