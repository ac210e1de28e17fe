#include "probe/inference/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "probe/inference/cyclic_scan.h"
#include "probe/inference/knee.h"
#include "probe/inference/stats.h"
#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr size_t kFewest = 3;  // amounts of other data

// The median: evictions by co-tenants are the signal here, and not noise that the fastest samples
// are free of.
Summary usual(const std::vector<Observation>& blocks) {
  Summary s = *summarize(blocks, Estimator::throughput);
  const std::vector<double> samples = all_samples(blocks);
  s.value = quantile(samples, 0.5);
  s.low = std::min(s.low, quantile(samples, 0.25));
  s.high = std::max(s.high, quantile(samples, 0.75));
  return s;
}

// By the bytes of other data; empty without enough points.
std::vector<CurvePoint> behind_others(const Observations& visit, const char* what) {
  std::vector<CurvePoint> out;
  for (const double bytes : values_of(select(visit, "retention", what), "bytes"))
    out.push_back({bytes, usual(select(visit, "retention", what, {{"bytes", bytes}})).value});
  if (out.size() < kFewest) out.clear();
  return out;
}

// Bytes of which `part` is held, kMostHits to kFewHits, on lines in the logarithm of bytes between
// the points.
double bytes_held(const HitCurve& s, double part) {
  const double from = s.from.value->v, middle = s.middle.value->v;
  const double to = s.to.known() ? s.to.value->v : middle * middle / from;
  return part > kHalfHits
             ? from * std::pow(middle / from, (kMostHits - part) / (kMostHits - kHalfHits))
             : middle * std::pow(to / middle, (kHalfHits - part) / (kHalfHits - kFewHits));
}

// The first point stands for next to no other data, which takes `near`.
HitCurve retained_behind_others(std::vector<CurvePoint> curve, const PlateauTimes& e,
                                const char* method) {
  curve.insert(curve.begin(), {curve.front().bytes / 2, e.here});
  return inferred_hit_curve(rising(curve), e, method);
}

struct Visit {
  HitCurve single_use_retention, reuse_retention;
  bool lost = false, lost_again = false;  // a part of the data used once, of that used a few times
  double near = 0, far = 0;               // seconds per byte
  std::vector<double> pauses;
  const Observations* all = nullptr;

  Summary behind(double pause) const {
    return usual(select(*all, "retention", "pause", {{"idle", pause}}));
  }
  double held(double seconds) const { return std::clamp((far - seconds) / (far - near), 0.0, 1.0); }
};

// Without pauses, where the visit ended early.
Visit visit_of(const Observations& all, double parts) {
  Visit v;
  v.all = &all;
  const std::vector<CurvePoint> once = behind_others(all, "single_use"),
                                again = behind_others(all, "reused");
  std::vector<double> pauses = values_of(select(all, "retention", "pause"), "idle");
  if (pauses.size() < 2 || once.empty()) return v;
  v.pauses = std::move(pauses);
  std::vector<CurvePoint> behind;
  for (const double pause : v.pauses) behind.push_back({pause, v.behind(pause).value});
  v.near = rising(behind).front().seconds;
  v.far = rising(once).back().seconds;
  v.lost = v.far >= kVisibleStep * v.near;
  if (!v.lost) return v;
  // After a few other lines that no other cache holds, a read takes longer though nothing is lost:
  // it first has to evict them.
  const double held = again.empty() ? v.near : again.front().seconds;
  v.single_use_retention = retained_behind_others(
      once, {std::max(v.near, std::min(held, once.front().seconds)), v.far, parts},
      "all units reading what each wrote once, behind so much other data");
  const double last = again.empty() ? 0 : rising(again).back().seconds;
  v.lost_again = last > kVisibleStep * held;
  if (v.lost_again)
    v.reuse_retention = retained_behind_others(
        again, {held, last, parts},
        "all units reading what each has used a few times, behind so much other data");
  return v;
}

// Co-tenants come and go: repeated probes differed by up to this factor.
Value<Bytes> mean_of(const std::vector<const Value<Bytes>*>& all) {
  constexpr double kOtherHours = 4;
  double sum = 0, low = 0, high = 0, n = 0;
  const Value<Bytes>* first = nullptr;
  for (const Value<Bytes>* v : all) {
    if (!v->known()) continue;
    if (first == nullptr) first = v;
    sum += std::log(v->value->v);
    low = n == 0 ? v->low->v : std::min(low, v->low->v);
    high = std::max(high, v->high->v);
    ++n;
  }
  if (first == nullptr) return *all.front();
  Value<Bytes> out = *first;
  const double mean = std::exp(sum / n);
  out.value = Bytes{std::round(mean)};
  out.low = Bytes{std::round(std::min(low, mean / kOtherHours))};
  out.high = Bytes{std::round(std::max(high, mean * kOtherHours))};
  out.note = "while the probe ran: others fill the cache more or less in other hours";
  return out;
}

// The visits that show as much as the most complete ones.
HitCurve mean_of(const std::vector<const HitCurve*>& all) {
  const auto known_points = [](const HitCurve& s) {
    return int{s.from.known()} + int{s.middle.known()} + int{s.to.known()};
  };
  int most = 0;
  for (const HitCurve* s : all) most = std::max(most, known_points(*s));
  std::vector<const Value<Bytes>*> from, middle, to;
  for (const HitCurve* s : all) {
    if (known_points(*s) < most) continue;
    from.push_back(&s->from);
    middle.push_back(&s->middle);
    to.push_back(&s->to);
  }
  return {mean_of(from), mean_of(middle), mean_of(to)};
}

}  // namespace

void add_single_use(const Observations& all, double units, MemoryLevel& to) {
  const double parts = to.per == "unit" ? 1 / units : 1;
  const std::vector<Observations> times = visits_of(all, "retention");
  std::vector<Visit> visits;
  for (const Observations& t : times)
    if (Visit v = visit_of(t, parts); !v.pauses.empty()) visits.push_back(std::move(v));
  if (visits.empty()) return;
  std::erase_if(visits, [](const Visit& v) { return !v.lost; });
  if (visits.empty()) {
    to.single_use_retention.from = to.single_use_retention.middle = to.single_use_retention.to =
        unknown_value<Bytes>("what it loses can not be told from what it holds");
    to.co_tenant_eviction = unknown_value<Bandwidth>(to.single_use_retention.from.note);
    return;
  }
  std::vector<const HitCurve*> passed, kept;
  for (const Visit& v : visits) {
    passed.push_back(&v.single_use_retention);
    if (v.lost_again) kept.push_back(&v.reuse_retention);
  }
  to.single_use_retention = mean_of(passed);
  if (!kept.empty()) to.reuse_retention = mean_of(kept);
  if (!to.single_use_retention.from.known() || !to.single_use_retention.middle.known()) return;
  std::vector<double> rates;
  Measured m;
  double last = 1, longest = 0;  // still held after the longest pause
  for (const Visit& v : visits) {
    if (!v.single_use_retention.from.known() || !v.single_use_retention.middle.known()) continue;
    const auto rate = [&](double pause, double part) {
      return bytes_held(v.single_use_retention, std::clamp(part, kFewHits, kMostHits)) / pause;
    };
    for (const double pause : v.pauses) {
      const Summary s = v.behind(pause);
      m.n += s.n;
      last = v.held(s.value);
      longest = pause;
      if (last > kMostHits || last < kFewHits) continue;
      const double low = rate(pause, v.held(s.low)), high = rate(pause, v.held(s.high));
      m.low = rates.empty() ? low : std::min(m.low, low);
      m.high = std::max(m.high, high);
      rates.push_back(rate(pause, last));
    }
    if (rates.empty() && last > kMostHits) m.high = std::max(m.high, rate(longest, kMostHits));
  }
  if (!rates.empty()) {
    m.value = quantile(std::move(rates), 0.5);
  } else if (last > kMostHits) {
    m.note = fmt::format("a pause of {:.0f} ms drives out next to nothing", 1e3 * longest);
  } else {
    to.co_tenant_eviction =
        unknown_value<Bandwidth>("one pause drives out next to nothing, the next one all");
    return;
  }
  to.co_tenant_eviction =
      bandwidth_value(m, "",
                      "all units reading what each wrote once behind pauses in which they only "
                      "add: what takes as long as far memory was driven out, as by so many bytes");
}

}  // namespace assay::probe
