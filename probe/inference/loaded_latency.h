// Loaded latency (as Intel's MLC and multichase's multiload show it): latency against the bandwidth
// that others use meanwhile.
//
// One group chases, all others stream, both through the same level. No event marks the end of a
// single group, so it follows from three launches: the chase alone (h0 hops, t0), the streams alone
// (s), and both (t), with a chase so long that it ends last. One chase hardly slows the streams, so
// they take s again. The hops that are left then take t0 / h0 each, and of h hops
//
//     latency = s / (h - (t - s) h0 / t0)
#pragma once

#include <optional>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

struct LoadedTimes {  // seconds of the three launches
  double alone = 0, streams = 0, both = 0;
  double hops = 0;  // of the chase, alone and under load
};
// Seconds of a hop while the streams run. nullopt: the chase ended first, or more than half of it
// was left when the streams ended.
std::optional<double> latency_under_load(const LoadedTimes& b);

struct LoadedPoint {
  double bandwidth = 0;                   // of all that stream
  double latency = 0, low = 0, high = 0;  // s
  int64_t n = 0;
  bool operator==(const LoadedPoint&) const = default;
};
// Ascending bandwidth, the unloaded latency first (at 0); latency never falls. Empty: not measured.
std::vector<LoadedPoint> loaded_curve(const Observations& all, double level);
// Between the points by straight lines of 1 / latency, as in queues; nullopt: the streams did not
// reach it.
std::optional<LoadedPoint> loaded_at(const std::vector<LoadedPoint>& curve, double bandwidth);

// `to` has its latency and bandwidth already.
void add_loaded(const Observations& all, const Known& known, size_t level, hwdesc::MemoryLevel& to);

}  // namespace assay::probe
