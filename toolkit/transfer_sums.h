// What the transfers of a plan move, and what they are estimated to take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/plan.h"
#include "model/estimate.h"

namespace assay::toolkit {

// Uploads, with what is cleared, or downloads of a plan, summed.
struct TransferSum {
  bool download = false;
  int64_t count = 0, bytes = 0;
  model::Estimate estimate;
};

// Both kinds, uploads first; empty: the plan has no transfers. `estimates`: per transfer.
std::vector<TransferSum> transfer_sums(const ir::Plan& plan,
                                       std::span<const model::Estimate> estimates);

}  // namespace assay::toolkit
