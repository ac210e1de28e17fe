#include "probe/inference/loaded_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "probe/inference/stats.h"
#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr size_t kEnough = 3;  // undisturbed samples
constexpr double kLeft = 0.5;  // of the hops at most after the streams ended: with more of them
                               // too little is under load

struct Samples {
  std::vector<double> quiet, all;
  std::vector<double> of() const { return quiet.size() >= kEnough ? quiet : all; }
  void add(double v, bool is_quiet) {
    all.push_back(v);
    if (is_quiet) quiet.push_back(v);
  }
};

// One rate of the streams: the bandwidth they reached, and the latency under that load.
struct Group {
  Samples latency, bandwidth;
};

// The three launches of a sample stand at the same place of blocks with the same conditions, in the
// order they were taken.
std::map<double, Group> groups_of(const Observations& all, double level, Samples& unloaded) {
  std::map<double, Group> out;
  const Conditions at = {{"level", level}};
  const auto alone = select(all, "loaded_latency", "alone", at),
             streams = select(all, "loaded_latency", "streams", at),
             both = select(all, "loaded_latency", "both", at);
  for (size_t b = 0; b < std::min({alone.size(), streams.size(), both.size()}); ++b) {
    if (alone[b].at != both[b].at || streams[b].at != both[b].at) continue;
    const double hops = both[b].value_at("hops");
    Group& g = out[both[b].value_at("slower")];
    for (size_t i = 0;
         i < std::min({alone[b].samples.size(), streams[b].samples.size(), both[b].samples.size()});
         ++i) {
      const bool quiet = i >= both[b].disturbed.size() || both[b].disturbed[i] <= kDisturbed;
      const LoadedTimes t{alone[b].samples[i], streams[b].samples[i], both[b].samples[i], hops};
      unloaded.add(t.alone / hops, quiet);
      g.bandwidth.add(both[b].value_at("bytes") / t.streams, quiet);
      if (const auto one = latency_under_load(t)) g.latency.add(*one, quiet);
    }
  }
  return out;
}

// Waiting only ever makes a unit look slower, so the estimate lies a little below the median.
LoadedPoint point_of(double bandwidth, const std::vector<double>& latencies) {
  return {bandwidth, quantile(latencies, 0.4), quantile(latencies, 0.2), quantile(latencies, 0.8),
          static_cast<int64_t>(latencies.size())};
}

double bytes_per_second(const Value<Bandwidth>& v, double hz) {
  return v.known() ? v.value->v * (v.value->clock.empty() ? 1 : hz) : 0;
}

Value<Latency> value_at(const std::vector<LoadedPoint>& curve, double part, double read,
                        const Known& known, const MemoryLevel& level) {
  const auto at = loaded_at(curve, part * read);
  if (!at)
    return unknown_value<Latency>(
        fmt::format("beside a chase the others reach {:.0f} % of `bandwidth.read`, where a load "
                    "takes {:.3g} ns",
                    100 * curve.back().bandwidth / read, 1e9 * curve.back().latency));
  // What the load adds to the chase's own time, which includes translation.
  const bool ticks =
      level.latency.known() && !level.latency.value->clock.empty() && known.clock_hz > 0;
  const double unit = ticks ? known.clock_hz : 1,
               own = level.latency.known() ? level.latency.value->v : curve.front().latency * unit;
  const auto added = [&](double v) {
    return own + std::max(0.0, v - curve.front().latency) * unit;
  };
  auto v = latency_value({added(at->latency), added(at->low), added(at->high), at->n, ""},
                         ticks ? kCore : "",
                         "one group's chase while all others stream: what they add to its latency");
  v.note = fmt::format("{:.3g} ns alone, {:.3g} ns beside {:.3g} GB/s, the most the others reach",
                       1e9 * curve.front().latency, 1e9 * curve.back().latency,
                       1e-9 * curve.back().bandwidth);
  return v;
}

}  // namespace

std::optional<double> latency_under_load(const LoadedTimes& b) {
  if (b.alone <= 0 || b.streams <= 0 || b.hops <= 0 || b.both < b.streams) return std::nullopt;
  const double behind =
      (b.both - b.streams) * b.hops / b.alone;  // hops after the streams had ended
  if (behind > kLeft * b.hops) return std::nullopt;
  return std::max(b.streams / (b.hops - behind), b.alone / b.hops);
}

std::vector<LoadedPoint> loaded_curve(const Observations& all, double level) {
  Samples unloaded;
  std::vector<LoadedPoint> out;
  for (const auto& [slower, g] : groups_of(all, level, unloaded))
    if (!g.latency.all.empty())
      out.push_back(point_of(quantile(g.bandwidth.of(), 0.5), g.latency.of()));
  if (out.empty()) return out;
  out.push_back(point_of(0, unloaded.of()));
  std::sort(out.begin(), out.end(),
            [](const LoadedPoint& a, const LoadedPoint& b) { return a.bandwidth < b.bandwidth; });
  for (size_t i = 1; i < out.size(); ++i) {
    out[i].latency = std::max(out[i].latency, out[i - 1].latency);
    out[i].low = std::max(out[i].low, out[i - 1].low);
    out[i].high = std::max(out[i].high, out[i].latency);
  }
  return out;
}

std::optional<LoadedPoint> loaded_at(const std::vector<LoadedPoint>& curve, double bandwidth) {
  for (size_t i = 1; i < curve.size(); ++i) {
    const LoadedPoint &a = curve[i - 1], &b = curve[i];
    if (b.bandwidth < bandwidth) continue;
    const double part =
        b.bandwidth > a.bandwidth ? (bandwidth - a.bandwidth) / (b.bandwidth - a.bandwidth) : 1;
    // 1 / latency falls straight towards the bandwidth at which a queue would never end.
    const auto between = [&](double x, double y) {
      return 1 / (1 / x + std::clamp(part, 0.0, 1.0) * (1 / y - 1 / x));
    };
    return LoadedPoint{bandwidth, between(a.latency, b.latency), between(a.low, b.low),
                       between(a.high, b.high), std::min(a.n, b.n)};
  }
  return std::nullopt;
}

void add_loaded(const Observations& all, const Known& known, size_t level, MemoryLevel& to) {
  const double read = bytes_per_second(to.bandwidth.read, known.clock_hz);
  const std::vector<LoadedPoint> curve = loaded_curve(all, double(level));
  if (curve.empty() && all.finished("loaded_latency") && level + 1 == known.levels.plateaus.size())
    to.loaded_latency.half = unknown_value<Latency>(
        !all.fact("loaded_left_out").empty() ? all.fact("loaded_left_out")
                                             : "no group can be set beside all others: there is "
                                               "one unit, or a unit has one group at a time");
  if (curve.empty() || read <= 0) return;
  to.loaded_latency.half = value_at(curve, 0.5, read, known, to);
  to.loaded_latency.nine_tenths = value_at(curve, 0.9, read, known, to);
}

}  // namespace assay::probe
