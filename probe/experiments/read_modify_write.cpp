// Read-modify-write of one vector in memory, over and over.
#include "probe/kernels/read_modify_write.h"

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"

namespace assay::probe {

void run_read_modify_write(Session& s) {
  if (s.device.threads) return;
  const int sums = s.bench.allocate(kMaxUpdatedVectors * s.known.lanes * 4);
  s.rounds(1, [&](size_t) {
    Job job;
    job.kernel = update_name(s.known.lanes);
    job.arguments = {{sums, 0}};
    job.parameters = [](int64_t count) { return std::vector<double>{double(count), 1}; };
    job.most = kMaxIterations;
    job.target_s = 0.2e-3;
    s.emit(s.bench.measure("read_modify_write", "chain", {{"lanes", s.known.lanes}}, job));
  });
}

}  // namespace assay::probe
