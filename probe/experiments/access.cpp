// How many misses can be outstanding at once.
#include <algorithm>
#include <cmath>

#include "probe/experiments/experiments.h"
#include "probe/inference/footprint.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/cycle.h"

namespace assay::probe {
namespace {

constexpr int64_t kNodesOfChain = 16;  // at least: fewer are no chase
// Times the groups that saturate arithmetic: loads wait longer.
constexpr int kTimes = 3, kMostTimes = 9;
constexpr double kExact = 200e-6;  // s of simulated time, which has no noise
constexpr int64_t kWarmUpTo = 32 << 20;
// Times the last knee: a larger footprint takes longer to set up than to chase.
constexpr double kFewTimes = 4;

// Footprints that show each level beyond the first.
std::vector<int64_t> sizes_beyond_first(const Session& s) {
  const std::vector<Plateau>& plateaus = s.known.levels.plateaus;
  std::vector<int64_t> out;
  for (size_t i = 1; i < plateaus.size(); ++i) {
    int64_t far = footprint_beyond(s.known, s.max_bytes / 4);
    if (s.device.simulated)
      far = std::min(far, static_cast<int64_t>(kFewTimes * s.known.levels.knees.back().to));
    out.push_back(i + 1 == plateaus.size() ? far : footprint_of_latency(s.known, i));
  }
  return out;
}

struct OutstandingPoint {  // independent chains in each of some groups
  size_t level = 0;
  int64_t bytes = 0;
  int chains = 1, groups = 1;
};

// One group shows the outstanding misses of a core or a wave. Where waves share a unit, all groups
// together show those of the unit.
std::vector<OutstandingPoint> outstanding_points(const Session& s) {
  std::vector<OutstandingPoint> out;
  const std::vector<int64_t> sizes = sizes_beyond_first(s);
  std::vector<int> counts = {1};
  for (int n = s.known.groups;
       s.device.threads && n > 1 && n <= kSlots && n <= kMostTimes * s.known.groups; n *= kTimes)
    counts.push_back(n);
  for (size_t i = 0; i < sizes.size(); ++i)
    for (const int groups : counts)
      for (const int chains : kChases) {
        const int64_t nodes = sizes[i] / (4 * static_cast<int64_t>(s.known.line));
        if (nodes >= kNodesOfChain * chains * groups)
          out.push_back({i + 1, sizes[i], chains, groups});
      }
  return out;
}

void measure_outstanding(Session& s, const ChaseArea& area, const OutstandingPoint& p) {
  const Cycle cycle = sparse_cycle(p.bytes, static_cast<int64_t>(s.known.line));
  const std::vector<int64_t> starts =
      write_cycles(s.bench, area.nodes, cycle, p.chains * p.groups, s.random);
  std::vector<runtime::Word> words;
  for (int g = 0; g < p.groups; ++g)
    for (int c = 0; c < p.chains; ++c)
      words.push_back({(int64_t{g} * kMostChases + c) * 8, starts[size_t(g * p.chains + c)]});
  s.bench.module().write_words(area.state, words);
  Job job = chase_job(area, p.groups, s.device.simulated ? kExact : 0.3e-3);
  job.kernel = chases_name(p.chains);
  job.work = double(hops_per_chain(p.chains)) * p.chains * p.groups;
  if (s.device.threads)
    job.setup_s = s.bench.setup_time(job);  // all waves begin at once and load their start
  if (p.bytes <= kWarmUpTo) {
    const runtime::Launch pass =
        s.bench.launch(job, cycle.nodes / static_cast<int64_t>(job.work) + 1);
    s.warm_up(pass);
  }
  const Conditions at = {{"level", double(p.level)},
                         {"chains", p.chains},
                         {"groups", p.groups},
                         {"bytes", double(p.bytes)}};
  s.emit(s.bench.measure("outstanding", "chases", at, job));
}

}  // namespace

// Independent chases: the time per hop falls until no more misses can be outstanding.
void run_outstanding(Session& s) {
  const std::vector<OutstandingPoint> points = outstanding_points(s);
  if (points.empty()) return;
  int64_t most = 0;
  for (const OutstandingPoint& p : points) most = std::max(most, p.bytes);
  const ChaseArea area{s.bench.allocate(most), s.bench.allocate(kSlots * kMostChases * 8)};
  s.rounds(points.size(), [&](size_t i) { measure_outstanding(s, area, points[i]); });
}

}  // namespace assay::probe
