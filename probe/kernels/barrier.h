// A barrier among all groups of a launch, inside one kernel, as schedules that run in one launch
// need it. Each group increments a counter and polls it until all have arrived (ir::DeviceBarrier).
// Source: Rammer; Xiao and Feng, Inter-block GPU communication via fast barrier synchronization,
// IPDPS 2010.
//
//   barrier_of_all   a number of them, one after the other
//
// No forward progress is assumed: a group has a bounded number of polls and then leaves. The polls
// left are stored. A launch with a group that has none left is not counted.
#pragma once

#include <cstdint>

#include "ir/kernel.h"

namespace assay::probe {

inline constexpr const char* kBarrierOfAll = "barrier_of_all";
inline constexpr int64_t kMaxPolls = int64_t{1} << 16;  // of a group in a launch

// Arguments: polls left of each group; the counter, 0 before; parameters {barriers, groups, polls}.
// Not among all_kernels.
ir::Kernel device_barrier_kernel();

}  // namespace assay::probe
