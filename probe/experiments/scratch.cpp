// The scratchpad: its banks, and whether it is on the chip.
#include "probe/inference/scratch.h"

#include <algorithm>

#include "probe/experiments/experiments.h"
#include "probe/inference/stats.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/cycle.h"

namespace assay::probe {
namespace {

constexpr double kSweep = 4;  // times the capacity of the cache whose latency its hops have
constexpr int64_t kLeastSweep = 64 << 10;
constexpr int64_t kOwnRounds = kGroupBytes / 64 / kChaseSteps;  // every node once

bool has(const Session& s, const std::string& kernel) {
  return std::any_of(s.kernels.begin(), s.kernels.end(),
                     [&](const ir::Kernel& k) { return k.name == kernel; });
}

// One wave in every group; lanes are threads.
void measure_stride(Session& s, int nodes, int64_t stride) {
  Job job;
  job.kernel = strided_name(s.known.lanes, stride);
  job.arguments = {{nodes, 0}};
  job.groups = static_cast<int>(s.known.units);
  job.work = kStrideLoads * job.groups;
  job.most = kMaxIterations;
  job.target_s = s.device.simulated ? 0.2e-3 : 0.4e-3;
  job.setup_s = s.bench.setup_time(job);  // filling it
  s.emit(s.bench.measure("scratch", "stride", {{"stride", double(stride)}}, job));
}

// Hops through the scratchpad, with other memory read in between or not.
Job after_sweep_job(Session& s, const ChaseArea& area, int far, int64_t sweep, int64_t rounds) {
  Job job;
  job.kernel = after_sweep_name(s.known.lanes);
  job.arguments = {{area.nodes, 0}, {far, 0}, {area.state, 0}};
  job.parameters = [=](int64_t count) {
    return std::vector<double>{double(count), double(sweep / kBlockBytes), double(rounds)};
  };
  job.most = kMaxIterations;
  const int64_t filling =
      kGroupBytes / 8 /
      s.known.lanes;  // once only, but drivers that end loops may count all iterations of a launch
  job.loops = filling + 1 + sweep / kBlockBytes * (1 + kBlockBytes / 4 / s.known.lanes) + rounds;
  job.target_s = s.device.simulated ? 0.2e-3 : 0.4e-3;
  job.setup_s = s.bench.setup_time(job);  // filling it, which dominates a few iterations
  return job;
}

Observation after_sweep(Session& s, const Job& job, int64_t sweep, int64_t rounds) {
  return s.bench.measure("scratch", "after",
                         {{"bytes", double(sweep)}, {"hops", double(rounds * kChaseSteps)}}, job);
}

// Bytes that evict the cache whose latency the hops have, if it is one.
int64_t sweep_for(Session& s, const ChaseArea& area, int far) {
  const std::vector<KneePoint>& knees = s.known.levels.knees;
  if (knees.empty()) return kLeastSweep;
  const Job job = after_sweep_job(s, area, far, 0, kOwnRounds);
  if (s.bench.most_of(job) < 1) return kLeastSweep;
  const Observation own = after_sweep(s, job, 0, kOwnRounds);
  const KneePoint& knee =
      knees[std::min(answering_level(s.known.levels,
                                     quantile(own.samples, 0.5) / double(kOwnRounds * kChaseSteps)),
                     knees.size() - 1)];
  return std::clamp(static_cast<int64_t>(kSweep * knee.to), kLeastSweep,
                    std::max(kLeastSweep, s.max_bytes / 2)) /
         kBlockBytes * kBlockBytes;
}

}  // namespace

void run_scratch(Session& s) {
  if (!has(s, after_sweep_name(s.known.lanes))) return;
  const ChaseArea area = ChaseArea::make(s.bench, kGroupBytes);
  area.start_at(s.bench, 0,
                write_cycle(s.bench, area.nodes, dense_cycle(kGroupBytes, 64), s.random));
  const int64_t sweep = sweep_for(s, area, s.bench.allocate(kBlockBytes));
  const int far = s.bench.allocate(sweep + kBlockBytes);
  std::vector<int64_t> strides;
  for (const int64_t stride : kStrides)
    if (has(s, strided_name(s.known.lanes, stride))) strides.push_back(stride);
  s.rounds(strides.size() + 4, [&](size_t i) {
    if (i >= 4) return measure_stride(s, area.nodes, strides[i - 4]);
    const int64_t bytes = i / 2 == 0 ? 0 : sweep, rounds = i % 2 == 0 ? 0 : kOwnRounds;
    if (const Job job = after_sweep_job(s, area, far, bytes, rounds); s.bench.most_of(job) > 0)
      s.emit(after_sweep(s, job, bytes, rounds));
  });
}

}  // namespace assay::probe
