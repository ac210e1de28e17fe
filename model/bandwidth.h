// Bandwidth of n active users of a shared memory, and what latency allows.
//
//   B(n) = ((n b1)^-p + B^-p)^(-1/p)     b1: one user alone, B: the memory's limit, p: exponent
//   never above bytes in flight / latency (Little's law)
#pragma once

#include <algorithm>

namespace assay::model {

// Bytes/s of all n users together. Pre: b1, limit > 0, n >= 1, p > 0.
double shared_bandwidth(double n, double b1, double limit, double p);

// in_flight_bytes / latency, seconds; no bound when the latency is not known (0).
double little_bound(double in_flight_bytes, double latency);

// Seconds per byte: read, written, and for one of each moved concurrently, which take between the
// longer time and the sum.
struct TransferCost {
  double read = 0, write = 0, both = 0;
  double seconds(double in, double out) const {
    const double pairs = std::min(in, out);
    return pairs * both + (in - pairs) * read + (out - pairs) * write;
  }
  TransferCost slowed(double reading, double writing) const {
    const double sum = read + write, slower = read * reading + write * writing;
    return {read * reading, write * writing, sum > 0 ? both * slower / sum : both};
  }
};

}  // namespace assay::model
