// Straight-line code of growing size.
#include "probe/kernels/code.h"

#include <memory>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/straight_line_code.h"
#include "probe/sampling/own_kernels.h"

namespace assay::probe {

namespace {

void measure(Session& s, Bench& bench, int steps) {
  Job job;
  job.kernel = straight_line_name(steps);
  job.work = steps;
  job.most = kMaxIterations;
  job.target_s = 0.2e-3;
  s.emit(bench.measure(
      "code", "straight",
      {{"steps", steps}, {"bytes", static_cast<double>(bench.code_bytes(job.kernel))}}, job));
}

}  // namespace

void run_code(Session& s) {
  const std::vector<int> sizes = straight_line_steps(shape_of(s.device));
  if (!s.device.threads)
    return s.rounds(sizes.size(), [&](size_t i) { measure(s, s.bench, sizes[i]); });
  std::vector<std::unique_ptr<OwnKernels>> built;
  for (const int steps : sizes) {
    if (out_of_time(s)) break;
    built.push_back(std::make_unique<OwnKernels>(
        s, std::vector<ir::Kernel>{straight_line_kernel(steps, true, s.known.lanes)},
        s.known.lanes));
  }
  s.rounds(built.size(), [&](size_t i) { measure(s, built[i]->bench, sizes[i]); });
}

}  // namespace assay::probe
