#include "probe/inference/knee.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "probe/inference/segment.h"

namespace assay::probe {
namespace {

struct Run {  // points [begin, end) of the curve on one level
  size_t begin = 0, end = 0;
  double level = 0;  // median of log seconds
};

double octaves(std::span<const CurvePoint> c, const Run& r) {
  return std::log2(c[r.end - 1].bytes / c[r.begin].bytes);
}

double median_of(std::span<const double> y, size_t begin, size_t end) {
  return quantile({y.begin() + static_cast<std::ptrdiff_t>(begin),
                   y.begin() + static_cast<std::ptrdiff_t>(end)},
                  0.5);
}

// Two points at 12 % suffice for a run of their own when the noise is small.
double penalty_for(std::span<const double> raw) {
  const double sigma = std::max(noise_of(raw), 0.002);
  const double effect = std::log1p(kNear);
  return std::max(4 * sigma * sigma * std::log(static_cast<double>(raw.size())), effect * effect);
}

std::vector<Run> runs_of(std::span<const double> y, double penalty) {
  std::vector<Run> out;
  for (const Segment& s : segment(y, penalty))
    out.push_back({s.begin, s.end, median_of(y, s.begin, s.end)});
  return out;
}

// Joins neighbours closer than `step`, the closest first: small steps inside a level vanish before
// they can add up to a large one.
void merge_close(std::vector<Run>& runs, std::span<const double> y, double step) {
  while (runs.size() > 1) {
    size_t closest = 0;
    for (size_t i = 0; i + 1 < runs.size(); ++i)
      if (runs[i + 1].level - runs[i].level < runs[closest + 1].level - runs[closest].level)
        closest = i;
    if (runs[closest + 1].level - runs[closest].level >= step) return;
    Run& a = runs[closest];
    a.end = runs[closest + 1].end;
    a.level = median_of(y, a.begin, a.end);
    runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(closest) + 1);
  }
}

constexpr double kSmooth = 0.0005, kNoisy = 0.003;  // of the logarithm, from point to point

double least_step(std::span<const double> raw) {
  const double way = std::clamp((noise_of(raw) - kSmooth) / (kNoisy - kSmooth), 0.0, 1.0);
  return kQuietStep + way * (kMinStep - kQuietStep);
}

// Ramps are narrow; the first and the last run may be narrow too, since the sweep ends there.
std::vector<Run> plateaus_of(std::span<const CurvePoint> curve, std::span<const double> y,
                             std::vector<Run> runs, double step) {
  std::vector<Run> wide;
  for (size_t i = 0; i < runs.size(); ++i) {
    const double need = i == 0 || i + 1 == runs.size() ? kMinOctaves / 2 : kMinOctaves;
    if (octaves(curve, runs[i]) >= need) wide.push_back(runs[i]);
  }
  for (size_t i = 0; i + 1 < wide.size();) {  // levels that are one: the ramp between joins them
    if (wide[i + 1].level - wide[i].level >= std::log(step)) {
      ++i;
      continue;
    }
    wide[i].end = wide[i + 1].end;
    wide[i].level = median_of(y, wide[i].begin, wide[i].end);
    wide.erase(wide.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return wide;
}

constexpr double kStretch = 0.4;  // octaves of a plateau that is known to be there
constexpr double kSlant = 0.2;    // of its middle: it rises no more than that

// The flattest stretch of a ramp, with its position among the runs; none: `end` is 0. A ramp lies
// between two runs that differ by two steps of a level, and the stretch differs by one from both.
std::pair<size_t, Run> flattest(std::span<const CurvePoint> c, std::span<const double> y,
                                const std::vector<Run>& runs) {
  std::pair<size_t, Run> best{0, {}};
  double least = std::log1p(kSlant);
  for (size_t i = 0; i + 1 < runs.size(); ++i) {
    const double low = runs[i].level + std::log(kMinStep),
                 high = runs[i + 1].level - std::log(kMinStep);
    for (size_t begin = runs[i].begin; begin < runs[i + 1].end; ++begin) {
      size_t end = begin + 1;
      while (end < runs[i + 1].end && std::log2(c[end - 1].bytes / c[begin].bytes) < kStretch)
        ++end;
      if (y[begin] < low || y[end - 1] > high || y[end - 1] - y[begin] >= least) continue;
      if (std::log2(c[end - 1].bytes / c[begin].bytes) < kStretch) continue;
      least = y[end - 1] - y[begin];
      best = {i + 1, {begin, end, median_of(y, begin, end)}};
    }
  }
  Run& r = best.second;
  if (r.end == 0) return best;
  const double slant = std::log1p(kSlant);
  while (r.begin > 0 && y[r.begin - 1] >= r.level - slant) --r.begin;
  while (r.end < y.size() && y[r.end] <= r.level + slant) ++r.end;
  return best;
}

double crossing(std::span<const CurvePoint> c, std::span<const double> y, const Run& a,
                const Run& b) {
  const double middle = (a.level + b.level) / 2;
  size_t i = a.begin + 1;
  while (i + 1 < b.end && y[i] < middle) ++i;
  const double rise = y[i] - y[i - 1];
  const double part = rise > 0 ? std::clamp((middle - y[i - 1]) / rise, 0.0, 1.0) : 0.5;
  return std::exp2(std::log2(c[i - 1].bytes) + part * std::log2(c[i].bytes / c[i - 1].bytes));
}

constexpr double kBurst = 0.3;
constexpr double kQuarter = 0.25;  // of a small step: so close counts as that level

KneePoint knee_between(std::span<const CurvePoint> c, std::span<const double> y, const Run& a,
                       const Run& b) {
  const double near = std::min(std::log1p(kNear), kQuarter * (b.level - a.level));
  size_t last = a.begin, first = b.end - 1;
  for (size_t i = a.begin; i < b.end && y[i] <= a.level + near; ++i) last = i;
  for (size_t i = b.end; i-- > a.begin && y[i] >= b.level - near;) first = i;
  return {c[last].bytes, std::max(c[first].bytes, c[last].bytes), crossing(c, y, a, b)};
}

// A footprint that is clearly slower than a larger one was disturbed, though its own samples do not
// show it.
void settle_bursts(std::vector<double>& logs) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = logs.size(); i-- > 0;) {
    if (logs[i] > least + std::log1p(kBurst)) logs[i] = least;
    least = std::min(least, logs[i]);
  }
}

}  // namespace

std::vector<CurvePoint> curve_of(std::span<const Observation> blocks, Estimator estimator) {
  std::vector<CurvePoint> out;
  for (const double bytes : values_of(blocks, "bytes")) {
    std::vector<Observation> here;
    for (const Observation& o : blocks)
      if (o.value_at("bytes") == bytes) here.push_back(o);
    if (const auto s = estimate(here, estimator)) out.push_back({bytes, *s});
  }
  return out;
}

namespace {

// The sum of distances in octaves between the knees of `runs` and as many `sizes`.
double away_from(std::span<const CurvePoint> curve, std::span<const double> y,
                 const std::vector<Run>& runs, std::span<const double> sizes) {
  double sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    sum += std::abs(std::log2(crossing(curve, y, runs[i], runs[i + 1]) / sizes[i]));
  return sum;
}

// The first run, the last one, and between them one run less than there are caches: the choice
// whose knees are nearest to the declared sizes.
std::vector<Run> as_declared(std::span<const CurvePoint> curve, std::span<const double> y,
                             const std::vector<Run>& runs, std::span<const double> sizes) {
  std::vector<bool> chosen(runs.size() - 2,
                           false);  // every choice of that many
  std::fill(chosen.end() - static_cast<std::ptrdiff_t>(sizes.size() - 1), chosen.end(), true);
  std::vector<Run> best;
  double least = std::numeric_limits<double>::infinity();
  do {
    std::vector<Run> kept = {runs.front()};
    for (size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i]) kept.push_back(runs[i + 1]);
    kept.push_back(runs.back());
    if (const double away = away_from(curve, y, kept, sizes); away < least) {
      least = away;
      best = std::move(kept);
    }
  } while (std::next_permutation(chosen.begin(), chosen.end()));
  return best;
}

}  // namespace

Levels find_levels(std::span<const CurvePoint> curve, size_t expected,
                   std::span<const double> sizes) {
  if (curve.size() < 3) return {};
  std::vector<double> raw;
  for (const CurvePoint& p : curve) raw.push_back(std::log(p.seconds));
  settle_bursts(raw);
  const std::vector<double> y = isotonic(raw);
  std::vector<Run> runs = runs_of(y, penalty_for(raw));
  merge_close(runs, y, std::log1p(kNear));
  runs = plateaus_of(curve, y, std::move(runs), sizes.empty() ? least_step(raw) : kQuietStep);
  const size_t shown = runs.size();
  if (sizes.size() > 1 && runs.size() > sizes.size() + 1) runs = as_declared(curve, y, runs, sizes);
  while (runs.size() < expected) {
    const auto [before, found] = flattest(curve, y, runs);
    if (found.end == 0) break;
    runs.insert(runs.begin() + static_cast<std::ptrdiff_t>(before), found);
  }
  Levels out;
  out.shown = shown;
  for (size_t i = 0; i < runs.size(); ++i) {
    out.plateaus.push_back(
        {curve[runs[i].begin].bytes, curve[runs[i].end - 1].bytes, std::exp(runs[i].level)});
    if (i > 0) out.knees.push_back(knee_between(curve, y, runs[i - 1], runs[i]));
  }
  return out;
}

std::optional<size_t> find_step(std::span<const double> values, double min_ratio) {
  double low = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool stays = std::all_of(values.begin() + static_cast<std::ptrdiff_t>(i), values.end(),
                                   [&](double v) { return v >= low * min_ratio; });
    if (i > 0 && stays) return i;
    low = std::max(low, values[i]);
  }
  return std::nullopt;
}

}  // namespace assay::probe
