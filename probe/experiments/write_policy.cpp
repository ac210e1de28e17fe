// Write policy: a footprint is evicted by other memory, then written and read back.
#include "probe/inference/write_policy.h"

#include <algorithm>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr double kCachedPart = 0.5;    // of a capacity
constexpr double kLargest = 16 << 20;  // bytes of a cache: evicting more takes too long

struct Point {
  size_t level = 0;
  int64_t blocks = 0, others = 0;
  Rewrite what;
};

Job job_of(const Session& s, int from, int to, const Point& p) {
  Job job;
  job.kernel = rewrite_name(s.known.lanes);
  job.arguments = {{from, 0}, {to, 0}};
  job.parameters = [=](int64_t passes) {
    const auto part = [&](bool does) { return does ? double(p.blocks) : 0; };
    return std::vector<double>{double(passes), double(p.others), part(p.what.before),
                               part(p.what.written), part(p.what.after)};
  };
  job.most = kMaxPasses;
  job.loops = 1 + (p.others + p.blocks * (p.what.before + p.what.written + p.what.after)) *
                      rewrite_loops(s.known.lanes);
  job.target_s = s.device.simulated ? 20e-6 : 0.5e-3;
  return job;
}

}  // namespace

void run_write_policy(Session& s) {
  std::vector<Point> points;
  int64_t most = 0, others = 0;
  for (size_t i = 0; i < s.known.levels.knees.size(); ++i) {
    const KneePoint& knee = s.known.levels.knees[i];
    if (knee.to > kLargest) continue;
    const auto held =
        std::max<int64_t>(1, static_cast<int64_t>(kCachedPart * knee.from) / kBlockBytes);
    const auto evicting = static_cast<int64_t>(kEvictionFactor * knee.to) / kBlockBytes + 1;
    most = std::max(most, held);
    others = std::max(others, evicting);
    for (const Rewrite& what : kRewrites) points.push_back({i, held, evicting, what});
  }
  if (points.empty()) return;
  const int from = s.bench.allocate(others * kBlockBytes),
            to = s.bench.allocate(most * kBlockBytes);
  s.rounds(points.size(), [&](size_t i) {
    const Point& p = points[i];
    const Conditions at = {{"level", double(p.level)}, {"bytes", double(p.blocks * kBlockBytes)}};
    Job job = job_of(s, from, to, p);
    if (s.bench.most_of(job) == 0) return;
    if (s.device.threads) job.setup_s = s.bench.setup_time(job);  // waves wait for their parameters
    s.emit(s.bench.measure("write_policy", p.what.name, at, job));
  });
}

}  // namespace assay::probe
