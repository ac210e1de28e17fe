// Experiments on how memory is accessed: misses side by side.
#include <algorithm>
#include <cmath>

#include "probe/experiments/experiments.h"
#include "probe/inference/footprint.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/cycle.h"

namespace assay::probe {
namespace {

constexpr int64_t kNodesOfChain = 16;      // at least: fewer are no chase
constexpr int kTimes = 3, kMostTimes = 9;  // as many groups as computing needs: waiting takes more
constexpr double kExact = 200e-6;          // s of simulated time: nobody disturbs it
constexpr int64_t kWarmUpTo = 32 << 20;
constexpr double kFewTimes = 4;  // the last knee, where setting up more takes longer than chasing

// Bytes that show each level beyond the first.
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

struct Side {  // by side: so many chains in each of so many groups
  size_t level = 0;
  int64_t bytes = 0;
  int chains = 1, groups = 1;
};

// One group shows what a core, or a wave, can wait for; where waves share a unit, all of them what
// the unit can.
std::vector<Side> sides_of(const Session& s) {
  std::vector<Side> out;
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

void measure_side(Session& s, const ChaseArea& area, const Side& p) {
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
  job.work = double(chases_turns(p.chains)) * p.chains * p.groups;
  if (s.device.threads)
    job.before =
        s.bench.time_of_none(job);  // all waves begin at once, and wait for where they start
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

// Chases that do not wait for each other: time per hop falls until no more misses can be under way
// at once.
void run_outstanding(Session& s) {
  const std::vector<Side> points = sides_of(s);
  if (points.empty()) return;
  int64_t most = 0;
  for (const Side& p : points) most = std::max(most, p.bytes);
  const ChaseArea area{s.bench.allocate(most), s.bench.allocate(kSlots * kMostChases * 8)};
  s.rounds(points.size(), [&](size_t i) { measure_side(s, area, points[i]); });
}

}  // namespace assay::probe
