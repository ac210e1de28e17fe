// A barrier among all groups of a launch, inside one kernel, as schedules that run in one launch
// have it (Rammer; Xiao and Feng, Inter-block GPU communication via fast barrier synchronization,
// IPDPS 2010): each group adds one to a number in memory and looks until all have come
// (ir::DeviceBarrier).
//
//   barrier_of_all   so many of them, one after the other
//
// No group is taken to go on while others wait: a group has so many looks in all and then waits for
// nobody. What is left of them is stored, so a launch whose groups did not all meet each time is
// known by it, and counts for nothing.
#pragma once

#include <cstdint>

#include "ir/kernel.h"

namespace assay::probe {

inline constexpr const char* kBarrierOfAll = "barrier_of_all";
inline constexpr int64_t kMostLooks = int64_t{1} << 16;  // of a group in a launch

// Arguments: looks left of each group; the number, 0 before; parameters {barriers, groups, looks}.
// Not among all_kernels.
ir::Kernel device_barrier_kernel();

}  // namespace assay::probe
