#include "probe/known.h"

#include <algorithm>

namespace assay::probe {
namespace {

constexpr double kWiderPays = 1.15;  // a wider vector counts as better from this ratio on

double line_from(const Observations& all) {
  const std::vector<Observation> pairs = select(all, "line", "pair");
  std::vector<double> distances = values_of(pairs, "distance"), times;
  for (const double d : distances)
    times.push_back(summarize(select(all, "line", "pair", {{"distance", d}}), Estimator::latency)->value);
  const auto step = find_step(times, 1.15);
  return step ? distances[*step] : 0;
}

}  // namespace

std::vector<LaneRate> lane_rates(const Observations& all) {
  std::vector<LaneRate> out;
  const std::vector<Observation> blocks = select(all, "fma", "fma");
  for (const double lanes : values_of(blocks, "lanes")) {
    LaneRate best{static_cast<int>(lanes), 0, 0};
    for (const double chains : values_of(blocks, "chains")) {
      const auto s = summarize(select(all, "fma", "fma", {{"lanes", lanes}, {"chains", chains}}), Estimator::throughput);
      if (s && lanes / s->value > best.elements_per_second)
        best = {static_cast<int>(lanes), static_cast<int>(chains), lanes / s->value};
    }
    out.push_back(best);
  }
  return out;
}

std::vector<Observation> chase_blocks(const Observations& all) {
  std::vector<Observation> out;
  for (const Observation& o : all.points)
    if (o.what == "chase" && (o.experiment == "chase" || o.experiment == "knees")) out.push_back(o);
  return out;
}

double crowding(const Observations& all, size_t i) {
  const auto level = static_cast<double>(i);
  const std::vector<Observation> blocks = select(all, "sharing", "chase", {{"level", level}});
  const std::vector<double> units = values_of(blocks, "units");
  if (units.size() < 2) return 0;
  const auto one = summarize(select(all, "sharing", "chase", {{"level", level}, {"units", units.front()}}), Estimator::latency);
  const auto many = summarize(select(all, "sharing", "chase", {{"level", level}, {"units", units.back()}}), Estimator::latency);
  return one && many ? many->value / one->value : 0;
}

Known known_from(const Observations& all) {
  Known k;
  if (const auto s = summarize(select(all, "clock", "sentinel"), Estimator::latency)) k.clock_hz = 1 / s->value;
  double best = 0;
  for (const LaneRate& r : lane_rates(all)) {
    if (r.elements_per_second < best * kWiderPays) continue;
    best = r.elements_per_second;
    k.lanes = r.lanes;
    k.chains = r.chains;
  }
  if (const double line = line_from(all); line > 0) k.line = line;
  k.levels = find_levels(curve_of(chase_blocks(all), Estimator::latency));
  for (size_t i = 0; i < k.levels.knees.size(); ++i) {
    const double ratio = crowding(all, i);
    k.shared.push_back(ratio > 0 ? ratio >= kCrowded : i >= 2);
  }
  return k;
}

}  // namespace assay::probe
