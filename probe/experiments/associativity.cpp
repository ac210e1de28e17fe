// Set conflicts: how many ways a cache has, and how fast one set serves lines.
#include "probe/inference/associativity.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <set>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/cycle.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr int64_t kMostLines = 64;
constexpr int64_t kStartOffset = 29 * 64;  // bytes: parameters and state map to other sets
constexpr double kMostWays = 64, kSmallestStride = 512;

struct Lines {
  int64_t lines = 0, stride = 0;
};

// Powers of two, from a 64th of the capacity up to the capacity; and odd multiples of a quarter of
// it, which map to one set only if the number of sets is a power of two.
std::set<int64_t> strides_of(double capacity) {
  std::set<int64_t> out;
  const auto power = [](double v) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(v)));
  };
  for (int64_t s = power(std::max(kSmallestStride, capacity / kMostWays)); s <= power(capacity);
       s *= 2)
    out.insert(s);
  for (const int64_t odd : {3, 5, 7}) out.insert(odd * power(capacity) / 4);
  return out;
}

std::vector<Lines> points_of(const Session& s) {
  std::set<int64_t> strides;
  for (const KneePoint& k : s.known.levels.knees) strides.merge(strides_of(k.capacity));
  std::vector<Lines> out;
  const double first = s.known.levels.knees.empty() ? 0 : s.known.levels.knees.front().capacity;
  for (const int64_t stride : strides)
    for (int64_t n = 2; n <= kMostLines; n += n < 18 ? 1 : n < 36 ? 2 : 4)
      if (n * stride + kStartOffset <= s.max_bytes && static_cast<double>(n * stride) > 0.7 * first)
        out.push_back({n, stride});
  return out;
}

// Numbers of lines 4 KiB from each other, up to half of the second cache, or more than a TLB has
// entries.
std::vector<Lines> points_of_pages(const Session& s) {
  constexpr double kFewest = 32, kMostPages = 4096;
  std::vector<Lines> out;
  if (s.device.threads || s.known.levels.knees.size() < 2) return out;
  const double most = std::min(kMostPages, s.known.levels.knees[1].capacity / s.known.line / 2);
  for (double n = kFewest; n <= most; n *= std::numbers::sqrt2)
    if (const auto lines = static_cast<int64_t>(std::round(n));
        lines * kPageBytes + kStartOffset <= s.max_bytes)
      out.push_back({lines, kPageBytes});
  return out;
}

// The rate at which one set serves lines.
void measure_set_conflicts(Session& s) {
  if (s.device.threads || s.known.levels.knees.empty()) return;
  const std::vector<SetConflictCase> points = set_conflict_cases(s.known);
  int64_t most = 0;
  for (const SetConflictCase& t : points) most = std::max(most, t.bytes());
  if (most > s.max_bytes) return;
  const int from = s.bench.allocate(most);
  s.rounds(points.size(), [&](size_t i) {
    const SetConflictCase& t = points[i];
    const Job job = vectors_of_rows(s,
                                    t.stores    ? "sets_write"
                                    : t.one_set ? "sets_read"
                                                : "lines_read",
                                    from, t.lines, 0.2e-3);
    s.emit(s.bench.measure(
        "ways", t.what(),
        {{"lines", static_cast<double>(t.lines)}, {"stride", static_cast<double>(t.stride)}}, job));
  });
}

}  // namespace

void run_ways(Session& s) {
  measure_set_conflicts(s);
  std::vector<Lines> points = points_of(s);
  const size_t in_sets = points.size();
  for (const Lines& p : points_of_pages(s)) points.push_back(p);
  if (points.empty()) return;
  int64_t most = 0;
  for (const Lines& p : points) most = std::max(most, p.lines * p.stride + kStartOffset);
  const ChaseArea area = ChaseArea::make(s.bench, most);
  s.rounds(points.size(), [&](size_t i) {
    Cycle cycle;
    cycle.begin = kStartOffset;
    cycle.nodes = points[i].lines;
    cycle.stride = points[i].stride;
    area.start_at(s.bench, 0, write_cycle(s.bench, area.nodes, cycle, s.random));
    const Job job = chase_job(area, 1, s.device.simulated ? 20e-6 : 0.1e-3);
    const runtime::Launch pass =
        s.bench.launch(job, (points[i].lines + kChaseSteps - 1) / kChaseSteps);
    s.bench.run({&pass, 1});
    s.emit(s.bench.measure(
        "ways", i < in_sets ? "lines" : "pages",
        {{"lines", double(points[i].lines)}, {"stride", double(points[i].stride)}}, job));
  });
}

}  // namespace assay::probe
