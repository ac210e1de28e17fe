// Units that work through queues of their own in one kernel (the dialect's `queues`).
#pragma once

#include <span>
#include <vector>

#include "runtime/opencl/launcher.h"
#include "runtime/queue_table.h"

namespace assay::runtime::opencl {

class Scheduled {  // invariant: refers to a loaded module that outlives it
 public:
  Scheduled(Loaded& loaded, Buffer table, Buffer state, Buffer times);

  // A barrier stands behind each repeat. Errors: those of check_schedule; kernels that are not all
  // in one program; a unit that waited too long for another one; what the driver says; cancelled.
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options);

 private:
  QueueTable table_of(std::span<const Launch> launches,
                      std::span<const ir::Command> schedule) const;
  Diags run_repeats(const QueueTable& table, cl_kernel kernel, size_t scratch, cl_uint repeats,
                    std::vector<cl_ulong>& stamps);

  Loaded& loaded_;
  const Session& session_;
  Buffer table_, state_, times_;
};

}  // namespace assay::runtime::opencl
