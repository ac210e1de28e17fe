#include "probe/joined.h"

#include <fmt/format.h>

#include "probe/stats.h"
#include "probe/values.h"

namespace assay::probe {

namespace {

constexpr double kJoined = 0.75;  // of the time of runs half as long; half would be perfect

}  // namespace

hwdesc::Value<hwdesc::Count> joined_lanes(const Observations& all, int most) {
  std::vector<double> seconds;
  for (const int run : kNeighbourRuns) {
    const auto s = summarize(select(all, "joined", "neighbours", {{"run", double(run)}}), Estimator::throughput);
    if (!s) return {};
    seconds.push_back(s->value);
  }
  int lanes = 1;
  double last = seconds[0];
  for (size_t i = 1; i < seconds.size() && kNeighbourRuns[i] <= most; ++i) {
    if (seconds[i] >= kJoined * last) continue;
    lanes = kNeighbourRuns[i];
    last = seconds[i];
  }
  return known_value(hwdesc::Count{double(lanes)}, hwdesc::Origin::measured, "scalar multiply-adds of elements side by side, against elements apart",
                     fmt::format("an element takes {:.2f} ns alone, {:.2f} ns in runs of {}", seconds[0] * 1e9, last * 1e9, lanes));
}

}  // namespace assay::probe
