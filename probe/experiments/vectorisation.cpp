// SLP vectorisation and load merging by a kernel language's compiler.
#include "probe/kernels/vectorisation.h"

#include <algorithm>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"

namespace assay::probe {

namespace {

void run_load_merging(Session& s) {
  const int from = s.bench.allocate(std::max(kGroupBytes, kLoadUnroll * s.lanes.front() * 4));
  Job unrolled;
  unrolled.kernel = kUnrollName;
  unrolled.arguments = {{from, 0}};
  unrolled.work = static_cast<double>(kLoadUnroll);
  unrolled.most = kMaxIterations;
  unrolled.target_s = 0.2e-3;
  std::vector<Job> words;
  for (const int step : kWordSteps) {
    Job job = unrolled;
    job.kernel = words_name(step);
    if (!s.bench.has(job.kernel)) continue;
    job.groups = s.known.groups;
    job.work = static_cast<double>(kWordUnroll * job.groups);
    job.setup_s = s.bench.setup_time(job);  // filling it
    words.push_back(std::move(job));
  }
  s.rounds(1 + words.size(), [&](size_t i) {
    if (i == 0)
      s.emit(s.bench.measure("vectorisation", "unroll", {}, unrolled));
    else
      s.emit(
          s.bench.measure("vectorisation", "words", {{"step", kWordSteps[i - 1]}}, words[i - 1]));
  });
}

}  // namespace

void run_vectorisation(Session& s) {
  if (s.device.threads) return run_load_merging(s);
  constexpr int64_t kBytes = 128 << 10;  // more than the runs reach
  const int all = s.bench.allocate(kBytes);
  s.rounds(kNeighbourRuns.size(), [&](size_t i) {
    Job job;
    job.kernel = neighbours_name(kNeighbourRuns[i]);
    job.arguments = {{all, 0}};
    job.work = static_cast<double>(kNeighbourSteps * kNeighbours);
    job.most = kMaxIterations;
    job.target_s = 0.2e-3;
    s.emit(s.bench.measure("vectorisation", "neighbours", {{"run", kNeighbourRuns[i]}}, job));
  });
}

}  // namespace assay::probe
