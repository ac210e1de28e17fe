// What a compiler makes of scalar operations on neighbours.
#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/joined.h"

namespace assay::probe {

void run_joined(Session& s) {
  if (s.device.threads) return;
  constexpr int64_t kBytes = 128 << 10;  // more than the runs reach
  const int all = s.bench.allocate(kBytes);
  s.rounds(kNeighbourRuns.size(), [&](size_t i) {
    Job job;
    job.kernel = neighbours_name(kNeighbourRuns[i]);
    job.arguments = {{all, 0}};
    job.work = static_cast<double>(kNeighbourSteps * kNeighbours);
    job.most = kMaxIterations;
    job.target_s = 0.2e-3;
    s.emit(s.bench.measure("joined", "neighbours", {{"run", kNeighbourRuns[i]}}, job));
  });
}

}  // namespace assay::probe
