// The unit of transfer of each level, the line of the first, vectors across lines.
#include <algorithm>
#include <cmath>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/cycle.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr double kMissesAll = 1.5, kCachedPart = 0.8;  // of a capacity
constexpr double kBeyond = 4;                          // times the last cache
// Bytes: an odd multiple of 256, more than the distance of two loads.
constexpr int64_t kNodeStride = 1280;
constexpr int kSetsMissed = 4;             // first loads use one set in so many
constexpr int kWavesMore = 4;              // than saturate arithmetic: loads wait longer
constexpr double kSpan = 1.5;              // capacities that nodes span
constexpr int64_t kMostSpanned = 1 << 19;  // nodes: more take too long
constexpr int kPairsAgain = 3;
constexpr double kHeld = 0.75;  // of a capacity: it hits where nobody has a part of it

struct Point {
  std::string what;
  Conditions at;
  Cycle cycle;
  int64_t held = 0;  // nodes of a cycle that the cache holds, measured directly afterwards
};

// Two loads `distance` from each other; the first of each pair misses the caches before the level.
void add_pairs(const Session& s, std::vector<Point>& to) {
  const std::vector<KneePoint>& knees = s.known.levels.knees;
  for (size_t i = 0; i < knees.size(); ++i) {
    const double before = kMissesAll * knees[i].capacity;
    const double lines = i + 1 < knees.size()
                             ? std::sqrt(before * kCachedPart * knees[i + 1].capacity / kSetsMissed)
                             : kBeyond * knees[i].capacity / kSetsMissed;
    Cycle c;
    c.nodes = std::max<int64_t>(64, static_cast<int64_t>(lines / s.known.line));
    c.stride = kNodeStride;
    c.block = (i + 1 < knees.size() ? kLocalBytes : kMostLocalBytes / 2) / kNodeStride;
    if (c.nodes * c.stride > s.max_bytes) continue;
    for (const int64_t distance : {16, 32, 64, 128, 192}) {
      c.second = distance;
      to.push_back({"pair", {{"level", double(i + 1)}, {"distance", double(distance)}}, c});
    }
  }
}

// Nodes at a stride: up to a line's length they need half as many lines again as a cache holds.
// Where lanes are threads, each cache may have lines of its own.
void add_spans(const Session& s, std::vector<Point>& to) {
  const std::vector<KneePoint>& knees = s.known.levels.knees;
  const auto line = static_cast<int64_t>(s.known.line);
  for (size_t i = 0; i < (s.device.threads ? knees.size() : std::min<size_t>(1, knees.size()));
       ++i) {
    if (i > 0 && kSpan * knees[i].capacity > static_cast<double>(kMostSpanned * line)) continue;
    for (const int times : {1, 2, 4, 8}) {
      Cycle c;
      c.stride = times * line;
      c.nodes = static_cast<int64_t>(kSpan * knees[i].capacity) / c.stride;
      c.block = kLocalBytes / c.stride;
      c.drift = true;
      const Conditions at = {{"level", double(i)}, {"stride", double(c.stride)}};
      const double held = s.device.threads ? kHeld * knees[i].capacity : 0;
      to.push_back({"span", at, c, static_cast<int64_t>(held) / line});
    }
  }
}

void measure_vectors(Session& s, int from, int lanes, bool across) {
  Job job;
  job.kernel = vectors_name(lanes, across);
  job.arguments = {{from, 0}};
  job.groups = s.device.threads ? kWavesMore * s.known.groups : 1;
  job.work = double(vectors_of(lanes)) * job.groups;
  job.most = kMaxIterations;
  job.target_s = 0.3e-3;
  s.emit(s.bench.measure("transfer", across ? "across" : "within", {{"lanes", lanes}}, job));
}

}  // namespace

void run_transfer(Session& s) {
  std::vector<Point> points;
  add_pairs(s, points);
  add_spans(s, points);
  int64_t most = 0;
  for (const Point& p : points) most = std::max(most, (p.cycle.nodes + 1) * (p.cycle.stride + 1));
  const ChaseArea area = ChaseArea::make(s.bench, std::max(most, kStraddleArea + kBlockBytes));
  const size_t vectors = 2 * s.lanes.size();
  const auto look = [&](size_t i) {
    if (i < vectors) return measure_vectors(s, area.nodes, s.lanes[i / 2], i % 2 == 1);
    const Point& p = points[i - vectors];
    const auto measure = [&](const std::string& what, const Cycle& cycle) {
      area.start_at(s.bench, 0, write_cycle(s.bench, area.nodes, cycle, s.random));
      Job job = chase_job(area, 1, s.device.simulated ? 60e-6 : 0.3e-3);
      const int64_t hops = (cycle.second > 0 ? 2 : 1) * cycle.nodes;
      const runtime::Launch pass = s.bench.launch(job, hops / kChaseSteps + 1);
      s.warm_up(pass);
      add_warm_lap(s.bench, s.device, job, hops);
      s.emit(s.bench.measure("transfer", what, p.at, job));
    };
    measure(p.what, p.cycle);
    if (p.held > 0)
      measure("held", dense_cycle(p.held * static_cast<int64_t>(s.known.line),
                                  static_cast<int64_t>(s.known.line)));
  };
  s.rounds(points.size() + vectors, look);
  // A neighbour makes touches dearer, and none cheaper.
  for (int again = 0; has_neighbours(s.device) && again < kPairsAgain; ++again)
    for (size_t i = 0; i < points.size(); ++i)
      if (points[i].what == "pair") look(vectors + i);
}

}  // namespace assay::probe
