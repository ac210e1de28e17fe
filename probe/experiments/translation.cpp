// Address translation: one line per page, rows of matrices, overlapped misses.
#include "probe/inference/translation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "probe/experiments/experiments.h"
#include "probe/inference/sharing_contrast.h"
#include "probe/inference/stats.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/cycle.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr int64_t kMostNodes = 16384, kMostRows = 8192, kFarStride = kFarPages * kPage;
constexpr double kTarget = 0.4e-3;  // s
constexpr double kFewOfLines = 0.1;
constexpr int kLooksAtLines = 4;

struct Point {
  std::string what;
  int64_t nodes, stride;
};

// Fine enough to show knees; the larger ones cost more to set up.
std::vector<int64_t> page_counts() {
  std::vector<int64_t> out;
  for (double n = kFewestPages; n <= kMostNodes * 1.01; n *= std::exp2(n < 4000 ? 0.25 : 0.5))
    out.push_back(static_cast<int64_t>(n + 0.5));
  return out;
}

// What one line per page costs beyond a dense chase over as many lines is translation. Two strides
// distinguish 4 KiB pages (equally many entries) from larger ones (fewer).
void add_pages(const Session& s, std::vector<Point>& to) {
  for (const int64_t nodes : page_counts()) {
    to.push_back({"pages", nodes, kPage});
    if (nodes * kFarStride <= s.max_bytes / 2) to.push_back({"pages", nodes, kFarStride});
    to.push_back({"pages", nodes, static_cast<int64_t>(s.known.line)});
  }
}

void add_rows(const Session& s, std::vector<Point>& to) {
  const std::vector<int64_t> counts = page_counts();
  for (const int64_t stride : kRowStrides)
    for (const int64_t nodes : counts)
      if (nodes >= kFewestRows && nodes <= kMostRows && nodes * stride <= s.max_bytes)
        to.push_back({"rows", nodes, stride});
  for (const int64_t nodes : kConflictPages)
    if (nodes * kConflictStride <= s.max_bytes) to.push_back({"pages", nodes, kConflictStride});
}

// Independent loads: of pages that are never reused, or of as many adjacent lines.
void add_passes(const Session& s, std::vector<Point>& to) {
  for (const int64_t nodes : kOverlapPages)
    for (const int64_t stride : {kRowBytes, kRowBytes - kPageBytes})
      if (nodes * stride <= s.max_bytes) to.push_back({"passing", nodes, stride});
}

Cycle cycle_of(const Session& s, const Point& p) {
  Cycle cycle = dense_cycle(p.nodes * p.stride, p.stride);
  cycle.block = 0;
  cycle.spread = p.stride % kPage == 0 ? static_cast<int64_t>(s.known.line) : 0;
  return cycle;
}

}  // namespace

void run_tlb(Session& s) {
  std::vector<Point> points;
  add_pages(s, points);
  if (!s.device.threads) {
    add_rows(s, points);
    add_passes(s, points);
  }
  int64_t most = 0;
  for (const Point& p : points) most = std::max(most, p.nodes * p.stride + kPage);
  const ChaseArea area = ChaseArea::make(s.bench, most);
  const std::vector<CurvePoint> curve = latency_curve(s.earlier);
  const auto line = static_cast<int64_t>(s.known.line);
  std::vector<size_t> disturbed;
  const auto look = [&](size_t i) {
    const Point& p = points[i];
    const bool chases = p.what != "passing";
    if (chases)
      area.start_at(s.bench, 0, write_cycle(s.bench, area.nodes, cycle_of(s, p), s.random));
    const Job job = chases ? chase_job(area, 1, kTarget)
                           : vectors_of_rows(s, p.stride == kRowBytes ? "pages_read" : "lines_read",
                                             area.nodes, p.nodes, kTarget);
    const Observation o = s.bench.measure(
        "tlb", p.what,
        {{"nodes", static_cast<double>(p.nodes)}, {"stride", static_cast<double>(p.stride)}}, job);
    s.emit(o);
    if (chases && p.stride == line &&
        quantile(o.samples, kFewOfLines) >
            kCrowded * alone_time(curve, static_cast<double>(p.nodes * line)))
      disturbed.push_back(i);
  };
  s.rounds(points.size(), look);
  // A neighbour who has a part of a cache makes lines close together look as dear as lines of a
  // page each.
  for (int again = 0; again < kLooksAtLines && s.time_left(); ++again)
    for (const size_t i : std::exchange(disturbed, {})) look(i);
}

}  // namespace assay::probe
