// Divergent branches, and barriers of a group.
//
//   branch_<k>  lanes l with (l / k) even take one branch, the others another, each with a loop of
//               its own. A wave of w lanes diverges where k < w; branch_0: all take one branch;
//   barriers    one barrier of a group after the other.
//
// They run in groups of several waves; else a wave wider than the driver's could not be seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr int kBranchSteps = 32;   // of each branch's loop: multiply-adds
inline constexpr int kBarrierSteps = 16;  // of an iteration

std::string branch_name(int alternate);
// 0, then powers of two below `threads`.
std::vector<int> alternations(int threads);

// For groups of `threads`; not among all_kernels.
std::vector<ir::Kernel> branch_kernels(int threads);
ir::Kernel barrier_kernel();
inline constexpr int64_t kMostThreads = 512;  // of a group
inline constexpr int kBranchRounds = 4;       // iterations of a branch's loop

}  // namespace assay::probe
