#include "probe/inference/vectorisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/inference/stats.h"
#include "probe/inference/values.h"
#include "probe/kernels/vectorisation.h"

namespace assay::probe {

namespace {

constexpr double kVectorised = 0.75;  // of the time of runs half as long; a half would be perfect

}  // namespace

hwdesc::Value<hwdesc::Count> slp_lanes(const Observations& all, int most) {
  std::vector<double> seconds;
  for (const int run : kNeighbourRuns) {
    const auto s = summarize(select(all, "vectorisation", "neighbours", {{"run", double(run)}}),
                             Estimator::throughput);
    if (!s) return {};
    seconds.push_back(s->value);
  }
  int lanes = 1;
  double last = seconds[0];
  for (size_t i = 1; i < seconds.size() && kNeighbourRuns[i] <= most; ++i) {
    if (seconds[i] >= kVectorised * last) continue;
    lanes = kNeighbourRuns[i];
    last = seconds[i];
  }
  return known_value(hwdesc::Count{double(lanes)}, hwdesc::Origin::measured,
                     "scalar multiply-adds of contiguous elements, against separate ones",
                     fmt::format("an element takes {:.2f} ns alone, {:.2f} ns in runs of {}",
                                 seconds[0] * 1e9, last * 1e9, lanes));
}

hwdesc::Value<hwdesc::Count> merged_loads(const Observations& all) {
  constexpr double kFour = 0.4,
                   kTwo =
                       0.7;  // of the time of separate words; a quarter and half would be perfect
  const auto neighbours = summarize(
      select(all, "vectorisation", "words", {{"step", kWordSteps[0]}}), Estimator::throughput);
  const auto separate = summarize(select(all, "vectorisation", "words", {{"step", kWordSteps[1]}}),
                                  Estimator::throughput);
  if (!neighbours || !separate) return {};
  const double part = neighbours->value / separate->value;
  return known_value(
      hwdesc::Count{part < kFour  ? 4.0
                    : part < kTwo ? 2.0
                                  : 1.0},
      hwdesc::Origin::measured,
      "a word of a group's own memory a step, contiguous words against separate ones",
      fmt::format("neighbours take {:.2f} of the time", part));
}

hwdesc::Value<hwdesc::Count> unrolled_iterations(const Observations& all, double latency) {
  constexpr double kMost = 16;  // more need registers that loops with arithmetic lack
  const auto iteration = summarize(select(all, "vectorisation", "unroll"), Estimator::latency);
  if (!iteration || latency <= 0) return {};
  const double iterations = std::floor(latency / iteration->value * 1.1);
  return known_value(
      hwdesc::Count{std::clamp(iterations, 1.0, kMost)}, hwdesc::Origin::measured,
      "latency of the first level over the time of an iteration of a loop with one load",
      fmt::format("an iteration takes {:.2f} ns", iteration->value * 1e9));
}

}  // namespace assay::probe
