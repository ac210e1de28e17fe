#include "probe/inference/cyclic_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <tuple>

#include "probe/inference/segment.h"
#include "probe/inference/sharing.h"
#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kGap = 3;        // between neighbouring footprints: a wider one shows nothing
constexpr size_t kFewest = 3;     // points of a sweep
constexpr double kAround = 1e-6;  // footprints are equal within this

// The middle of the flattest octave between two footprints, or of the whole range where that is
// narrower.
double plateau_time(std::span<const CurvePoint> curve, double from, double to) {
  const double wide = std::min(2.0, to / from);
  double best = std::numeric_limits<double>::infinity(), middle = std::sqrt(from * to);
  for (const CurvePoint& p : curve) {
    const double end = p.bytes * wide;
    if (p.bytes < from || end > to * (1 + kAround)) continue;
    const double rise = time_at(curve, end) / p.seconds;
    if (rise >= best * (1 - kAround)) continue;
    best = rise;
    middle = p.bytes * std::sqrt(wide);
  }
  return time_at(curve, middle);
}

// Where `part` of the data is still held, in bytes of one instance; the interval is that of the
// neighbouring footprints.
Value<Bytes> held_at(std::span<const CurvePoint> curve, const PlateauTimes& e, double part,
                     const std::string& method) {
  const auto held = [&](const CurvePoint& p) {
    return std::clamp((e.next - p.seconds) / (e.next - e.here), 0.0, 1.0);
  };
  size_t i = 0;
  while (i < curve.size() && held(curve[i]) > part) ++i;
  if (i == 0) return unknown_value<Bytes>("less is held of even the smallest footprint");
  if (i == curve.size() || curve[i].bytes > kGap * curve[i - 1].bytes)
    return unknown_value<Bytes>(
        fmt::format("{:.1f} MiB still hold {:.0f} %, and the sweep has no larger footprint near",
                    curve[i - 1].bytes * e.parts / (1 << 20), 100 * held(curve[i - 1])));
  const double a = held(curve[i - 1]), b = held(curve[i]);
  const double way = (a - part) / (a - b);
  Value<Bytes> v = known_value(
      Bytes{std::round(e.parts * curve[i - 1].bytes *
                       std::pow(curve[i].bytes / curve[i - 1].bytes, way))},
      Origin::measured, fmt::format("{}: {:.0f} % are as fast as the level", method, 100 * part));
  v.low = Bytes{std::round(e.parts * curve[i - 1].bytes)};
  v.high = Bytes{std::round(e.parts * curve[i].bytes)};
  return v;
}

HitCurve hit_curve_of(std::span<const CurvePoint> curve, const PlateauTimes& e, const char* way) {
  if (e.here <= 0 || e.next <= 0) {
    const auto why = unknown_value<Bytes>("the sweep does not reach beyond it");
    return {why, why, why};
  }
  if (e.next < kVisibleStep * e.here) {
    const auto why = unknown_value<Bytes>(fmt::format(
        "all units streaming from behind it take only {:.2f} times as long", e.next / e.here));
    return {why, why, why};
  }
  return inferred_hit_curve(curve, e, way);
}

constexpr double kTwoStates = 1.4;  // ratio of far memory's times in two states of the host
constexpr double kNeither = 1.1;    // so near the middle, the state changed during the sample
constexpr double kMinority = 0.25;  // of the footprints: too few to show an edge

// Some footprints, or tests of the units' placement, and seconds per byte of far memory right after
// them.
struct Stretch {
  std::vector<Observation> points;
  double beyond = 0;
};

std::vector<Stretch> stretches_of(const Observations& sweep) {
  std::vector<Stretch> out(1);
  for (const Observation& o : sweep.points) {
    if (o.what != "beyond") {
      out.back().points.push_back(o);
      continue;
    }
    out.back().beyond = quantile(o.samples, 0.5);
    out.emplace_back();
  }
  std::erase_if(out, [](const Stretch& s) { return s.points.empty() || s.beyond == 0; });
  return out;
}

bool has_placement_tests(const Observations& sweep) {
  return !select(sweep, "cyclic_scan", "own").empty();
}

// Whether each unit had a last cache of its own meanwhile; nullopt: the tests do not show it.
std::optional<bool> cross_die_during(const Observations& sweep) {
  const std::vector<Observation> own = select(sweep, "cyclic_scan", "own"),
                                 other = select(sweep, "cyclic_scan", "other");
  if (const auto times = remote_read_ratio(own, other)) return *times >= kRemoteCacheRatio;
  return in_remote_cache(own, other);
}

// The sweep while far memory was fast, and while it was slow. Empty where it was mostly neither.
std::vector<Sweep> by_state(const Observations& sweep, double largest) {
  const std::vector<Stretch> stretches = stretches_of(sweep);
  std::vector<double> times;
  for (const Stretch& s : stretches) times.push_back(s.beyond);
  if (times.size() < kFewest) return {};
  const double fast = quantile(times, 0.1), slow = quantile(times, 0.9),
               middle = std::sqrt(fast * slow);
  if (slow < kTwoStates * fast) return {};
  std::vector<Sweep> out;
  for (const bool is_slow : {false, true}) {
    Observations taken;
    std::vector<double> beyond;
    for (const Stretch& s : stretches) {
      if (is_slow ? s.beyond < middle * kNeither : s.beyond > middle / kNeither) continue;
      taken.points.insert(taken.points.end(), s.points.begin(), s.points.end());
      beyond.push_back(s.beyond);
    }
    Sweep s = sweep_of(taken);
    const bool few =
        s.curve.size() < kFewest ||
        static_cast<double>(beyond.size()) < kMinority * static_cast<double>(stretches.size());
    if (few || (has_placement_tests(sweep) && !cross_die_during(taken))) continue;
    if (s.curve.back().bytes < largest) s.curve.push_back({largest, quantile(beyond, 0.5)});
    out.push_back(std::move(s));
  }
  return out;
}

// Seconds per byte of far memory: the median of the reads after footprints. nullopt: too few.
std::optional<double> far_memory(const Observations& all) {
  constexpr size_t kEnough = 12;
  std::vector<double> samples = all_samples(select(all, "cyclic_scan", "beyond"));
  return samples.size() < kEnough ? std::nullopt : std::optional(quantile(std::move(samples), 0.5));
}

// A footprint slower than far memory was disturbed. The last footprint is measured only once, and
// all others are compared with it.
void hold_within(Sweep& s, double far) {
  for (CurvePoint& p : s.curve) p.seconds = std::min(p.seconds, far);
}

bool is_cache(const MemoryLevel& l) {
  return l.managed == Managed::automatic && l.capacity.known();
}

double parts_in(const MemoryLevel& l, const Sweep& sweep) {
  return l.per == "unit" || sweep.cross_die ? 1 : sweep.units;
}

}  // namespace

HitCurve inferred_hit_curve(std::span<const CurvePoint> curve, const PlateauTimes& e,
                            const std::string& method) {
  return {held_at(curve, e, kMostHits, method), held_at(curve, e, kHalfHits, method),
          held_at(curve, e, kFewHits, method)};
}

double noise_in(const Sweep& sweep) {
  std::vector<double> logs;
  for (const CurvePoint& p : sweep.curve) logs.push_back(std::log(p.seconds));
  return noise_of(logs);
}

double time_at(std::span<const CurvePoint> curve, double bytes) {
  size_t i = 0;
  while (i < curve.size() && curve[i].bytes < bytes) ++i;
  if (i == 0 || i == curve.size()) return i == 0 ? curve.front().seconds : curve.back().seconds;
  const double part =
      std::log(bytes / curve[i - 1].bytes) / std::log(curve[i].bytes / curve[i - 1].bytes);
  return curve[i - 1].seconds * std::pow(curve[i].seconds / curve[i - 1].seconds, part);
}

std::vector<CurvePoint> rising(std::span<const CurvePoint> curve) {
  std::vector<double> logs;
  for (const CurvePoint& p : curve) logs.push_back(std::log(p.seconds));
  logs = isotonic(logs);
  std::vector<CurvePoint> out(curve.begin(), curve.end());
  for (size_t i = 0; i < out.size(); ++i) out[i].seconds = std::exp(logs[i]);
  return out;
}

Sweep sweep_of(const Observations& all) {
  const std::vector<Observation> blocks = select(all, "cyclic_scan", "read");
  const std::vector<double> units = values_of(blocks, "units");
  return {curve_of(blocks, Estimator::throughput), units.empty() ? 1 : units.back(),
          cross_die_during(all).value_or(false)};
}

std::vector<Sweep> sweeps_of(const Observations& all) {
  const std::vector<Observations> visits = visits_of(all, "cyclic_scan");
  std::vector<Sweep> whole;
  double largest = 0;
  Observations one_die, cross_die;  // far memory's reads in visits of that placement
  for (const Observations& t : visits) {
    const Sweep& s = whole.emplace_back(sweep_of(t));
    if (!s.curve.empty()) largest = std::max(largest, s.curve.back().bytes);
    const std::vector<Observation> looks = select(t, "cyclic_scan", "beyond");
    Observations& kind = s.cross_die ? cross_die : one_die;
    kind.points.insert(kind.points.end(), looks.begin(), looks.end());
  }
  std::vector<Sweep> out;
  for (size_t i = 0; i < visits.size(); ++i) {
    Sweep& s = whole[i];
    if (s.curve.empty() || s.curve.back().bytes < largest / 2)
      continue;  // it ended early, without far memory to compare with
    std::vector<Sweep> states = by_state(visits[i], largest);
    if (states.empty()) {
      const std::optional<double> own = far_memory(visits[i]);
      if (const auto limit = own ? own : far_memory(s.cross_die ? cross_die : one_die))
        hold_within(s, *limit);
      states.push_back(std::move(s));
    }
    std::move(states.begin(), states.end(), std::back_inserter(out));
  }
  return out;
}

std::vector<double> plateau_times(std::span<const MemoryLevel> memory, const Sweep& sweep) {
  std::vector<double> out(memory.size(), 0);
  if (sweep.curve.size() < kFewest) return out;
  const std::vector<CurvePoint> curve = rising(sweep.curve);
  double before = curve.front().bytes;
  for (size_t i = 0; i < memory.size(); ++i) {
    if (!is_cache(memory[i])) continue;
    const double end = std::max(before, memory[i].capacity.value->v / parts_in(memory[i], sweep));
    if (end < curve.back().bytes) out[i] = plateau_time(curve, before, end);
    before = end;
  }
  if (!memory.empty() && !is_cache(memory.back())) out.back() = curve.back().seconds;
  return out;
}

namespace {

// One per level of `memory`, as one sweep shows it; empty for what is no cache, or without a sweep.
std::vector<HitCurve> hit_curves_by(const std::vector<MemoryLevel>& memory, const Sweep& sweep) {
  std::vector<HitCurve> out(memory.size());
  const std::vector<double> times = plateau_times(memory, sweep);
  const std::vector<CurvePoint> curve = rising(sweep.curve);
  if (curve.size() < kFewest) return out;
  const char* way = sweep.cross_die
                        ? "both units reading through their parts again and again, each in "
                          "a cache of its own at the time"
                        : "all units reading through their parts again and again";
  for (size_t i = 0; i + 1 < memory.size(); ++i) {
    if (!is_cache(memory[i])) continue;
    size_t next = i + 1;
    while (next + 1 < memory.size() && !is_cache(memory[next])) ++next;
    out[i] = hit_curve_of(curve, {times[i], times[next], parts_in(memory[i], sweep)}, way);
  }
  return out;
}

constexpr double kBefore = 1.2;  // a sweep must begin so far below the edge
constexpr double kSteady = 0.2;  // of neighbouring footprints' ratio: no edge shows where far
                                 // memory or the units' placement kept changing

constexpr double kBeyond = std::numeric_limits<double>::infinity();

// The median of several sweeps' values of a kind, or the mean of the middle two. What a sweep does
// not reach counts as `unreached`.
Value<Bytes> median_over_sweeps(std::span<const HitCurve> sweeps, Value<Bytes> HitCurve::*kind,
                                double unreached) {
  std::vector<Value<Bytes>> values;
  for (const HitCurve& s : sweeps) values.push_back(s.*kind);
  std::ranges::sort(values, {},
                    [&](const Value<Bytes>& v) { return v.known() ? v.value->v : unreached; });
  Value<Bytes> middle = values[(values.size() - 1) / 2];
  const Value<Bytes>& other = values[values.size() / 2];
  if (!middle.known() || !other.known() || middle == other) return middle;
  middle.value = Bytes{std::round(std::sqrt(middle.value->v * other.value->v))};
  middle.high = other.high;
  return middle;
}

bool shows_edge(const Sweep& sweep, const MemoryLevel& l, const HitCurve& s) {
  return s.middle.known() && s.from.known() &&
         s.from.value->v >= kBefore * sweep.curve.front().bytes * parts_in(l, sweep);
}

}  // namespace

void add_cyclic_scan(std::vector<MemoryLevel>& memory, std::span<const Sweep> sweeps) {
  std::vector<std::vector<HitCurve>> curves;
  for (const Sweep& s : sweeps) curves.push_back(hit_curves_by(memory, s));
  for (size_t i = 0; i < memory.size() && !curves.empty(); ++i) {
    memory[i].cyclic_scan = curves.front()[i];
    // Of those that begin well before its edge, else of all, the steady ones, and of these the ones
    // of units on one die.
    const auto rank = [&](size_t k) {
      return std::tuple(shows_edge(sweeps[k], memory[i], curves[k][i]),
                        noise_in(sweeps[k]) < kSteady, !sweeps[k].cross_die);
    };
    std::vector<size_t> all;
    for (size_t k = 0; k < curves.size(); ++k)
      if (curves[k][i].middle.known()) all.push_back(k);
    if (all.empty()) continue;
    const size_t best = *std::ranges::max_element(all, {}, rank);
    std::vector<HitCurve> counted;
    for (const size_t k : all)
      if (rank(k) == rank(best)) counted.push_back(curves[k][i]);
    memory[i].cyclic_scan = {median_over_sweeps(counted, &HitCurve::from, 0),
                             median_over_sweeps(counted, &HitCurve::middle, kBeyond),
                             median_over_sweeps(counted, &HitCurve::to, kBeyond)};
  }
}

namespace {

constexpr double kCoTenantSpread = 1.7;  // ratio between runs of what co-tenants leave of a cache
constexpr double kAsDeclared = 1.25;     // ratio within which it is the declared size

}  // namespace

void settle_shared_capacity(MemoryLevel& l, double nominal) {
  const bool foreign = l.co_tenant_eviction.known() && l.co_tenant_eviction.value->v > 0;
  if ((l.per != "device" && !foreign) || l.managed != Managed::automatic ||
      !l.cyclic_scan.middle.known() || !l.capacity.known())
    return;
  const bool from = l.cyclic_scan.from.known();
  const double held = (from ? l.cyclic_scan.from : l.cyclic_scan.middle).value->v,
               chased = l.capacity.value->v;
  const bool declared = nominal >= held / kAsDeclared && nominal <= held * kAsDeclared;
  l.capacity.value = Bytes{declared ? nominal : held};
  l.capacity.low = Bytes{std::round(held / kCoTenantSpread)};
  l.capacity.high = Bytes{std::round(held * kCoTenantSpread)};
  l.capacity.source = declared ? Origin::driver : Origin::measured;
  l.capacity.method = declared
                          ? "declared by the system, and near what all units hold streaming"
                          : fmt::format("{:.0f} % of what all units stream through are still held",
                                        100 * (from ? kMostHits : kHalfHits));
  l.capacity.note =
      fmt::format("a chase crosses to the next level at {:.0f} KiB: others use it; {}",
                  chased / 1024, l.capacity.note);
}

}  // namespace assay::probe
