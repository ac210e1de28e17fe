// The core's clock: free, and under the load of an experiment.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "probe/inference/known.h"

namespace assay::probe {
namespace {

constexpr double kSlower = 0.97;  // of the clock: a core that slows down
constexpr double kLessThanATick =
    0.8;  // of the slower clock, chosen: light vectors may slow the core less
constexpr double kLeastHeldUp =
    0.1;  // quantile of an addition's ticks, which co-tenants only lengthen

// How far vectors per tick, with a tick of so many seconds, are from what pipes execute: a whole
// number, or a half where a pipe takes a vector in two halves.
double off_whole(double seconds_per_vector, double tick) {
  const double per_tick = tick / seconds_per_vector,
               whole = per_tick > 0.75 ? std::round(per_tick) : 0.5;
  return std::abs(per_tick / whole - 1);
}

// The shortest latency of dependent vectors, over all chains; 0: none ran.
double shortest_step(const Observations& all, double lanes) {
  double out = 0;
  for (const char* experiment : {"operations", "types"}) {
    std::set<std::string> names;
    for (const Observation& o : all.points)
      if (o.experiment == experiment) names.insert(o.what);
    for (const std::string& name : names)
      if (const auto s = summarize(select(all, experiment, name, {{"lanes", lanes}, {"chains", 1}}),
                                   Estimator::latency))
        out = out > 0 ? std::min(out, s->value) : s->value;
  }
  return out;
}

// Additions beside multiply-adds take longer where the core's clock falls, and where a sibling
// thread uses its issue slots. The vectors alone decide which: none is ready in less than a tick,
// and pipes execute a whole number of multiply-adds in one.
bool slows_down(const Observations& all, double lanes, double free_hz) {
  const auto beside =
      summarize(select(all, "clock", "fma", {{"lanes", lanes}}), Estimator::latency);
  if (const double step = shortest_step(all, lanes);
      beside && step > 0 && step < kLessThanATick * beside->value)
    return false;
  const std::vector<LaneRate> rates = lane_rates(all);
  const auto of = std::find_if(rates.begin(), rates.end(), [&](const LaneRate& r) {
    return r.lanes == static_cast<int>(lanes);
  });
  if (!beside || of == rates.end() || of->elements_per_second <= 0)
    return true;  // nothing contradicts it
  const double vector = lanes / of->elements_per_second;
  return off_whole(vector, beside->value) <= off_whole(vector, 1 / free_hz);
}

// Ticks that an addition takes beside a load, each block by its own sentinel: clocks change from
// block to block. Less than one is a disturbed sentinel.
double ticks_beside(const Observations& all, const std::string& load, double lanes) {
  std::vector<double> ticks;
  for (const Observation& o : select(all, "clock", load, {{"lanes", lanes}}))
    for (const double seconds : o.samples)
      if (o.clock_hz) ticks.push_back(seconds * *o.clock_hz);
  return ticks.empty() ? 1 : std::max(1.0, quantile(std::move(ticks), kLeastHeldUp));
}

}  // namespace

std::optional<Summary> summarize_at_clock(const Known& known, std::span<const Observation> blocks,
                                          Estimator estimator) {
  return known.threads ? summarize(blocks, estimator)
                       : summarize(at_common_clock(blocks), estimator);
}

double clock_under(const Observations& all, const std::string& load, double lanes, double beside) {
  if (all.fact("lanes") == "threads")
    return 0;  // a wave issues in order, so other instructions delay the chain
  const auto s = summarize(select(all, "clock", load, {{"lanes", lanes}}), Estimator::latency);
  if (!s) return 0;
  if (s->clock_hz <= 0) return 1 / s->value;
  const double clock = beside > 0 ? beside : s->clock_hz, ticks = ticks_beside(all, load, lanes);
  return kSlower * ticks > 1 && !slows_down(all, lanes, s->clock_hz) ? clock : clock / ticks;
}

std::optional<Measured> free_clock(const Observations& all) {
  const auto own = summarize(select(all, "clock", "sentinel"), Estimator::latency);
  const double beside = clock_of(all.points);
  const std::string of_others =
      own ? fmt::format(
                "of additions beside other experiments: the clock experiment saw {:.2f} GHz",
                1e-9 / own->value)
          : "";
  if (own && 1 / own->value > kOneClock * beside) {
    Measured m = inverse(*own, 1);
    if (beside <= m.value) return m;
    // The same clock, a little higher: where it changes within seconds, a whole run samples more of
    // it than one experiment.
    m.high = std::max(m.high, beside);
    m.value = beside;
    m.note = of_others;
    return m;
  }
  if (beside <= 0) return std::nullopt;
  return Measured{
      beside, kOneClock * beside, beside / kOneClock, static_cast<int64_t>(all.points.size()),
      own ? of_others : "of additions beside other experiments: the clock experiment did not run"};
}

}  // namespace assay::probe
