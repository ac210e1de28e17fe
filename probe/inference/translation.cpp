#include "probe/inference/translation.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "probe/inference/knee.h"
#include "probe/inference/segment.h"
#include "probe/inference/values.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kFew = 0.1, kMiddle = 0.5, kMost = 0.9;  // of the rows
constexpr double kAlike = 1.3;    // ratio of two sizes' costs: within it, nearly all of both miss
constexpr double kLeastStep = 2;  // times a miss of the first TLB

double time_of(const Observations& all, const char* what, double nodes, double stride) {
  const auto s = summarize(select(all, "tlb", what, {{"nodes", nodes}, {"stride", stride}}),
                           Estimator::latency);
  return s ? s->value : 0;
}

// Time of a hop, less that of as many contiguous lines.
std::optional<double> excess(const Observations& all, const char* what, double nodes, double stride,
                             double line) {
  const double dense = time_of(all, "pages", nodes, line),
               sparse = time_of(all, what, nodes, stride);
  if (dense <= 0 || sparse <= 0) return std::nullopt;
  return std::max(0.0, sparse - dense);
}

// Latency against nodes at a `stride`.
std::vector<CurvePoint> translation_curve(const Observations& all, double stride, double line) {
  std::vector<CurvePoint> out;
  const std::vector<double> nodes =
      values_of(select(all, "tlb", "pages", {{"stride", stride}}), "nodes");
  if (nodes.empty()) return out;
  const double base = time_of(all, "pages", nodes.front(), line);
  for (const double n : nodes)
    if (const auto more = excess(all, "pages", n, stride, line)) out.push_back({n, base + *more});
  return out;
}

// The step from one plateau of a curve to the next. Least and most are from any point of one to any
// of the other, without their extremes.
Value<Latency> step_of(std::span<const CurvePoint> curve, const Plateau& a, const Plateau& b,
                       double hz) {
  const auto on = [&](const Plateau& p, double q) {
    std::vector<double> times;
    for (const CurvePoint& c : curve)
      if (c.bytes >= p.first && c.bytes <= p.last) times.push_back(c.seconds);
    return times.empty() ? p.seconds : quantile(std::move(times), q);
  };
  const double miss = (b.seconds - a.seconds) * hz;
  Measured m{miss, std::min(miss, (on(b, 0.1) - on(a, 0.9)) * hz),
             std::max(miss, (on(b, 0.9) - on(a, 0.1)) * hz), 0, ""};
  Value<Latency> v = latency_value(m, kCore, "step of that curve");
  v.n.reset();
  return v;
}

// The cost of a miss of a vector load that nothing waits for.
Value<Latency> passing_of(const Observations& all, int64_t nodes) {
  const auto at = [&](int64_t stride) {
    return summarize(
        select(all, "tlb", "passing", {{"nodes", double(nodes)}, {"stride", double(stride)}}),
        Estimator::latency);
  };
  const auto pages = at(kRowBytes), lines = at(kRowBytes - kPageBytes);
  if (!pages || !lines || pages->clock_hz <= 0)
    return unknown_value<Latency>("not measured: units are not cores, or memory was too small");
  const double hz = pages->clock_hz;
  Measured m{(pages->value - lines->value) * hz, (pages->low - lines->high) * hz,
             (pages->high - lines->low) * hz, pages->n + lines->n, ""};
  m.value = std::max(0.0, m.value);
  m.low = std::clamp(m.low, 0.0, m.value);
  m.high = std::max(m.high, m.value);
  return latency_value(m, kCore, "vector loads of one line per page, less as many close together");
}

struct Missed {
  double rows = 0, part = 0;  // of them, on average over their lengths
};

// `hit`, `miss`: seconds added to a hop where the second TLB holds its page, and where it does not.
std::vector<Missed> missed_rows(const Observations& all, double line, double hit, double miss) {
  std::vector<Missed> out;
  for (const double n : values_of(select(all, "tlb", "rows"), "nodes")) {
    double sum = 0, count = 0;
    for (const int64_t stride : kRowStrides)
      if (const auto more = excess(all, "rows", n, static_cast<double>(stride), line))
        sum += std::clamp((*more - hit) / (miss - hit), 0.0, 1.0), ++count;
    if (2 * count > static_cast<double>(kRowStrides.size())) out.push_back({n, sum / count});
  }
  return out;
}

// The number of rows of which `part` misses, interpolated in its logarithm. The largest tried, if
// fewer miss.
double rows_where(std::span<const Missed> curve, double part) {
  for (size_t i = 0; i < curve.size(); ++i) {
    if (curve[i].part < part) continue;
    if (i == 0 || curve[i - 1].part >= part) return curve[i].rows;
    return curve[i - 1].rows *
           std::pow(curve[i].rows / curve[i - 1].rows,
                    (part - curve[i - 1].part) / (curve[i].part - curve[i - 1].part));
  }
  return curve.back().rows;
}

// Seconds added to a hop through pages that conflict in a few sets; 0: some of them hit.
double conflict_miss(const Observations& all, double line) {
  std::vector<double> found;
  for (const int64_t n : kConflictPages)
    if (const auto more = excess(all, "pages", static_cast<double>(n), kConflictStride, line))
      found.push_back(*more);
  if (found.size() < kConflictPages.size()) return 0;
  const auto [least, most] = std::minmax_element(found.begin(), found.end());
  return *most > kAlike * *least ? 0 : *least;
}

std::optional<TlbLevel> second_of(const Observations& all, const Known& known, double hit,
                                  double hz) {
  const double miss = conflict_miss(all, known.line);
  if (miss < kLeastStep * hit) return std::nullopt;
  const std::vector<Missed> curve = missed_rows(all, known.line, hit, miss);
  if (curve.empty() || curve.front().part > kMiddle || curve.back().part < kMiddle)
    return std::nullopt;
  TlbLevel t;
  const double middle = rows_where(curve, kMiddle);
  t.entries = count_value({middle, rows_where(curve, kFew), rows_where(curve, kMost), 0, ""},
                          "chases through rows of eight lengths: where half of them miss on "
                          "average, a tenth, nine tenths");
  t.entries.n.reset();
  t.miss = latency_value(
      {(miss - hit) * hz, (miss - hit) * hz, (miss * kAlike - hit) * hz, 0, ""}, kCore,
      "chase through every eighth page, which map to few sets, less a miss of the nearer buffer");
  t.miss.n.reset();
  return t;
}

TlbLevel level_of(std::span<const CurvePoint> curve, const Levels& levels, size_t i, double hz) {
  TlbLevel t;
  const KneePoint& k = levels.knees[i];
  t.entries = count_value({k.capacity, k.from, k.to, 0, ""},
                          "chase of one line per page, less the same lines dense");
  t.entries.n.reset();
  t.miss = step_of(curve, levels.plateaus[i], levels.plateaus[i + 1], hz);
  return t;
}

// One entry covers a page of 4 KiB, or an unknown multiple of it.
bool in_small_pages(const Levels& near, const Levels& far, size_t knee) {
  const double ratio =
      knee < far.knees.size() ? far.knees[knee].capacity / near.knees[knee].capacity : 0;
  return ratio >= 0.6 && ratio <= 1.6;
}

}  // namespace

namespace {

// Hops hit in a core's own caches, so their times scale with its clock, which may change between
// the dense chase and the sparse one.
Observations at_one_tick(Observations all, double hz) {
  for (Observation& o : all.points) {
    if (o.experiment != "tlb" || o.clock_hz.value_or(0) <= 0) continue;
    for (double& seconds : o.samples) seconds *= *o.clock_hz / hz;
    o.clock_hz = hz;
  }
  return all;
}

}  // namespace

void add_tlb(const Observations& raw, const Known& known, Profile& to) {
  const double hz = clock_of(select(raw, "tlb", "pages"));
  if (hz <= 0) return;
  const Observations all = known.threads ? raw : at_one_tick(raw, hz);
  const std::vector<CurvePoint> curve = translation_curve(all, kPage, known.line);
  const Levels near = find_levels(curve);
  const Levels far = find_levels(translation_curve(all, double(kFarPages * kPage), known.line));
  for (size_t i = 0; i < near.knees.size() && in_small_pages(near, far, i); ++i)
    to.tlb.push_back(level_of(curve, near, i, hz));
  if (!to.tlb.empty())
    if (auto second =
            second_of(all, known, near.plateaus[1].seconds - near.plateaus[0].seconds, hz)) {
      to.tlb.resize(1);
      to.tlb.push_back(std::move(*second));
    }
  for (size_t i = 0; i < to.tlb.size(); ++i) {
    to.tlb[i].depth = static_cast<int>(i) + 1;
    to.tlb[i].page = known_value(Bytes{kPage}, Origin::measured,
                                 "the same number of nodes misses at strides of 4 KiB and 68 KiB");
    if (i < kOverlapPages.size()) to.tlb[i].overlapped_miss = passing_of(all, kOverlapPages[i]);
  }
}

}  // namespace assay::probe
