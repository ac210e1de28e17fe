// Running a plan whose tensors lie in part in host memory: transfers between its steps.
#pragma once

#include <array>
#include <vector>

#include "runtime/device.h"
#include "toolkit/placement.h"
#include "toolkit/transfer_sums.h"

namespace assay::toolkit {

// A region of a host tensor in its row-major order <-> the device tensor in its layout; or pad
// values.
void transfer(const Placement& placement, const ir::Plan& plan, const ir::Transfer& t);

struct PlanTimes {
  runtime::RunTimes times;  // `total` includes transfers
  // Per repeat, the host's seconds of uploads and of downloads. Simulated chips have no such times.
  std::vector<std::array<double, 2>> transfers;
};

// All steps and transfers, warm_up + repeat times; as the plan's schedule says, twice as often: the
// totals are of runs without a clock between steps. Errors: those of Module::run.
Result<PlanTimes> run_plan(const Placement& placement, const ir::Plan& plan,
                           const runtime::RunOptions& options);

}  // namespace assay::toolkit
