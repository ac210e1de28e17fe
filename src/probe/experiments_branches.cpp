// Branches that lanes of a wave disagree on, and barriers, in groups of several waves.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "probe/branches.h"
#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/own_kernels.h"

namespace assay::probe {
namespace {

constexpr int kWaves = 4;  // of a group: a wave twice as wide as the driver says would show
constexpr int64_t kCheckedIterations = 10;

int most_threads(const Session& s) {
  for (const auto& [name, text] : s.device.facts)
    if (name == "group_threads") return std::atoi(text.c_str());
  return s.known.lanes;
}

Job branch_job(int alternate, int out, int groups) {
  Job job;
  job.kernel = branch_name(alternate);
  job.arguments = {{out, 0}};
  job.groups = groups;
  job.parameters = [](int64_t amount) { return std::vector<double>{static_cast<double>(amount), kWayRounds}; };
  job.work = static_cast<double>(kBranchSteps) * 8 * groups;
  job.most = kMaxIterations;
  job.target_s = 0.5e-3;
  return job;
}

// Lane 0 always goes the first way.
void check(Bench& bench, int alternate, int out) {
  const runtime::Launch l = bench.launch(branch_job(alternate, out, 1), kCheckedIterations);
  bench.run({&l, 1});
  float found = 0;
  bench.module().read({out, 0}, std::as_writable_bytes(std::span<float>(&found, 1)));
  const double expected = 1 + static_cast<double>(kCheckedIterations) * kBranchSteps;
  if (static_cast<double>(found) != expected) fail({error(fmt::format("{} counted {} steps, expected {}", branch_name(alternate), found, expected))});
}

void measure_barrier(Session& s, Bench& bench, int threads) {
  Job job;
  job.kernel = "barriers";
  job.work = kBarrierSteps;
  job.most = kMaxIterations;
  job.target_s = 0.1e-3;
  s.emit(bench.measure("branches", "barrier", {{"threads", threads}}, job));
}

}  // namespace

void run_branches(Session& s) {
  if (!s.device.threads) return;
  const int wide = static_cast<int>(std::min<int64_t>({kWaves * int64_t{s.known.lanes}, kMostThreads, most_threads(s)}));
  OwnKernels several(s, branch_kernels(wide), wide), one(s, {barrier_kernel()}, s.known.lanes);
  several.bench.limit_loops(s.known.most_iterations / (2 * (kWayRounds + 1)));
  const int groups = std::max(1, (s.known.groups * s.known.lanes + wide - 1) / wide), out = several.bench.allocate(int64_t{groups} * kMostThreads * 4);
  const std::vector<int> by = alternations(wide);
  for (const int k : {by.front(), by.back()}) check(several.bench, k, out);
  s.rounds(by.size() + 2, [&](size_t i) {
    if (i < by.size())
      s.emit(several.bench.measure("branches", "branch", {{"alternate", by[i]}, {"threads", wide}}, branch_job(by[i], out, groups)));
    else if (i == by.size()) measure_barrier(s, several.bench, wide);
    else measure_barrier(s, one.bench, s.known.lanes);
  });
}

}  // namespace assay::probe
