// Divergent branches and barriers, in groups of several waves.
#include "probe/kernels/branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/sampling/own_kernels.h"

namespace assay::probe {
namespace {

constexpr int kWaves = 4;  // of a group: shows a wave twice as wide as the driver says
constexpr int kLargestGroup = 1024;
constexpr int64_t kCheckedIterations = 10;

int most_threads(const Session& s) {
  const std::string said = s.device.fact("group_threads");
  return said.empty() ? s.known.lanes : std::atoi(said.c_str());
}

Job branch_job(int alternate, int out, int groups) {
  Job job;
  job.kernel = branch_name(alternate);
  job.arguments = {{out, 0}};
  job.groups = groups;
  job.parameters = [](int64_t amount) {
    return std::vector<double>{static_cast<double>(amount), kBranchRounds};
  };
  job.work = static_cast<double>(kBranchSteps) * 8 * groups;
  job.most = kMaxIterations;
  job.target_s = 0.5e-3;
  return job;
}

// Lane 0 always takes the first branch.
void check(Bench& bench, int alternate, int out) {
  const runtime::Launch l = bench.launch(branch_job(alternate, out, 1), kCheckedIterations);
  bench.run({&l, 1});
  float found = 0;
  bench.module().read({out, 0}, std::as_writable_bytes(std::span<float>(&found, 1)));
  const double expected = 1 + static_cast<double>(kCheckedIterations) * kBranchSteps;
  if (static_cast<double>(found) != expected)
    fail({error(
        fmt::format("{} counted {} steps, expected {}", branch_name(alternate), found, expected))});
}

// One wave, two, four: up to the largest group.
std::vector<int> group_sizes(const Session& s) {
  std::vector<int> out = {s.known.lanes};
  for (int n = 2 * s.known.lanes; n <= std::min(most_threads(s), kLargestGroup); n *= 2)
    out.push_back(n);
  return out;
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
  const int wide = static_cast<int>(
      std::min<int64_t>({kWaves * int64_t{s.known.lanes}, kMostThreads, most_threads(s)}));
  OwnKernels several(s, branch_kernels(wide), wide);
  several.bench.limit_loops(s.known.most_iterations / (2 * (kBranchRounds + 1)));
  const int groups = std::max(1, (s.known.groups * s.known.lanes + wide - 1) / wide),
            out = several.bench.allocate(int64_t{groups} * kMostThreads * 4);
  const std::vector<int> by = alternations(wide);
  for (const int k : {by.front(), by.back()}) check(several.bench, k, out);
  std::vector<int> sizes;
  std::vector<std::unique_ptr<OwnKernels>> meeting;
  for (const int n : group_sizes(s)) {
    if (!sizes.empty() && out_of_time(s)) break;
    sizes.push_back(n);
    meeting.push_back(
        std::make_unique<OwnKernels>(s, std::vector<ir::Kernel>{barrier_kernel()}, n));
  }
  s.rounds(by.size() + sizes.size(), [&](size_t i) {
    if (i < by.size())
      s.emit(several.bench.measure("branches", "branch", {{"alternate", by[i]}, {"threads", wide}},
                                   branch_job(by[i], out, groups)));
    else
      measure_barrier(s, meeting[i - by.size()]->bench, sizes[i - by.size()]);
  });
}

}  // namespace assay::probe
