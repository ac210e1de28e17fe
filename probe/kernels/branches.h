// Branches that lanes of a wave disagree on, and barriers of a group.
//
//   branch_<k>  lanes l with (l / k) even go one way, the others another, each through a loop of
//   its own. A wave of w
//               lanes goes both ways where k < w, and one way where k >= w; branch_0: all go one
//               way
//   barriers    a group meets, again and again
//
// They run in groups of several waves, or none wider than what the driver calls a wave could be
// told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr int kBranchSteps = 32;   // of each way's loop: multiply-adds
inline constexpr int kBarrierSteps = 16;  // of an iteration

std::string branch_name(int alternate);
// 0, then powers of two below `threads`.
std::vector<int> alternations(int threads);

// For groups of `threads`; not among all_kernels.
std::vector<ir::Kernel> branch_kernels(int threads);
ir::Kernel barrier_kernel();
inline constexpr int64_t kMostThreads = 512;  // of a group
inline constexpr int kWayRounds = 4;          // that a way's loop goes round

}  // namespace assay::probe
