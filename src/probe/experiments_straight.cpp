// Straight-line code of growing size.
#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/straight.h"

namespace assay::probe {

void run_code(Session& s) {
  const std::vector<int> sizes = straight_steps(s.device.threads);
  s.rounds(sizes.size(), [&](size_t i) {
    Job job;
    job.kernel = straight_name(sizes[i]);
    job.work = sizes[i];
    job.most = kMaxIterations;
    job.target_s = 0.2e-3;
    s.emit(s.bench.measure("code", "straight", {{"steps", sizes[i]}, {"bytes", static_cast<double>(s.bench.code_bytes(job.kernel))}}, job));
  });
}

}  // namespace assay::probe
