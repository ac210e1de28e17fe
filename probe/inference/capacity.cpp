#include "probe/inference/capacity.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "probe/inference/known.h"

namespace assay::probe {
namespace {

constexpr double kNoise = 0.02;      // of a look's ticks, either way
constexpr double kMostUnsure = 0.3;  // of hits, because of it
constexpr double kInside = 0.9;      // of what is held: there most should hit
constexpr double kAround = 1.5;      // times or part of it: a visit looked at it
constexpr size_t kVisits = 3;        // that must agree
constexpr double kHalf = 0.5;
constexpr double kFirst = 0.25;  // a shared cache rises with the footprint: its beginning counts

// The fastest clock of a block and of the ones before and after it.
double clock_beside(std::span<const Observation> points, size_t i) {
  double hz = 0;
  for (size_t k = i > 0 ? i - 1 : 0; k <= i + 1 && k < points.size(); ++k)
    if (points[k].clock_hz) hz = std::max(hz, *points[k].clock_hz);
  return hz;
}

// A quantile over footprints of a plateau, of the best look at each. 0: none was looked at.
template <class Of>
double level_of(std::span<const Look> looks, const Plateau& p, double part, const Of& of) {
  std::map<double, double> best;
  for (const Look& l : looks) {
    if (l.bytes < p.first || l.bytes > p.last) continue;
    const auto [at, fresh] = best.emplace(l.bytes, of(l));
    if (!fresh) at->second = std::min(at->second, of(l));
  }
  std::vector<double> values;
  for (const auto& [bytes, value] : best) values.push_back(value);
  return values.empty() ? 0 : quantile(std::move(values), part);
}

struct Step {
  double near = 0, far = 0;  // ticks
  double far_seconds = 0;

  double hits(const Look& l) const {
    return std::min({1.0, part(l.ticks, far), part(l.ticks, far_seconds * l.hz)});
  }
  double unsure() const { return std::min(kMostUnsure, kNoise * far / (far - near)); }

 private:
  double part(double ticks, double next) const {
    return next > near ? (next - ticks) / (next - near) : 0;
  }
};

struct Point {
  double bytes = 0, hits = 0;
};

// Where hits fall below a part, between a footprint that reaches it and the next larger one.
double between(const Point& reaches, const Point& next, double part) {
  if (next.bytes <= 0) return reaches.bytes;
  const double way = (reaches.hits - part) / (reaches.hits - next.hits);
  return reaches.bytes * std::pow(next.bytes / reaches.bytes, std::clamp(way, 0.0, 1.0));
}

// Several visits looked at sizes around it, and no look inside it missed most.
bool seen_alike(std::span<const Look> looks, const Held& held, const Step& step) {
  std::set<size_t> visits;
  for (const Look& l : looks) {
    if (l.bytes < held.least / kAround || l.bytes > held.most * kAround) continue;
    visits.insert(l.visit);
    if (l.bytes <= kInside * held.least && step.hits(l) < kHalf) return false;
  }
  return visits.size() >= kVisits;
}

}  // namespace

Observations with_fastest_clocks(Observations all) {
  const std::vector<Observation> before = all.points;
  for (size_t i = 0; i < before.size(); ++i)
    if (const double hz = clock_beside(before, i); hz > 0 && is_chase(before[i]))
      all.points[i].clock_hz = hz;
  return all;
}

std::vector<Look> looks_of(const Observations& all) {
  std::vector<Look> out;
  std::string before;
  size_t visit = 0;
  for (size_t i = 0; i < all.points.size(); ++i) {
    const Observation& o = all.points[i];
    if (o.experiment != before) ++visit;
    before = o.experiment;
    if (!is_chase(o)) continue;
    const auto s = estimate({&o, 1}, Estimator::latency);
    const double hz = clock_beside(all.points, i);
    if (s) out.push_back({o.value_at("bytes"), *s * (hz > 0 ? hz : 1), visit, hz > 0 ? hz : 1});
  }
  return out;
}

std::optional<Held> held_by(std::span<const Look> looks, const Plateau& near, const Plateau& far) {
  const auto ticks = [](const Look& l) { return l.ticks; };
  const auto seconds = [](const Look& l) { return l.ticks / l.hz; };
  const Step step{level_of(looks, near, kHalf, ticks), level_of(looks, far, kFirst, ticks),
                  level_of(looks, far, kFirst, seconds)};
  if (step.near <= 0 || step.far <= step.near) return std::nullopt;
  std::map<double, double, std::greater<>> hits;  // of the best look, from large to small
  for (const Look& l : looks) {
    const auto [at, fresh] = hits.emplace(l.bytes, step.hits(l));
    if (!fresh) at->second = std::max(at->second, step.hits(l));
  }
  Held out{near.first, near.last, far.last};
  double most = 0;
  Point before;  // the next larger footprint
  bool few = true, half = true;
  for (const auto& [bytes, part] : hits) {
    if (bytes > far.last) continue;
    most = std::max(most, part);  // a larger footprint hits no more
    const Point here{bytes, most};
    if (few && here.hits >= kFewest) few = false, out.most = between(here, before, kFewest);
    if (half && here.hits >= kHalf) half = false, out.half = between(here, before, kHalf);
    if (here.hits >= kHalf)
      out.least = std::max(out.least, here.bytes * (here.hits - step.unsure()));
    before = here;
  }
  out.half = std::clamp(out.half, out.least, std::max(out.least, out.most));
  out.most = std::max(out.most, out.half);
  out.alike = seen_alike(looks, out, step);
  return out;
}

}  // namespace assay::probe
