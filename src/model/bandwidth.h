// Bandwidth of n active users of a shared memory, and what latency allows.
//
//   B(n) = ((n b1)^-p + B^-p)^(-1/p)     b1: one user alone, B: the memory's limit, p: sharpness
//   never above bytes in flight / latency (Little's law)
#pragma once

namespace assay::model {

// Bytes/s of all n users together. Pre: b1, limit > 0, n >= 1, p > 0.
double shared_bandwidth(double n, double b1, double limit, double p);

// in_flight_bytes / latency, seconds; no bound when the latency is not known (0).
double little_bound(double in_flight_bytes, double latency);

}  // namespace assay::model
