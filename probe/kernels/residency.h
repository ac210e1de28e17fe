// How many groups are resident at once, and what limits them.
//
//   meet       each group increments a counter, then polls it a bounded number of times. The first
//              one to leave has counted all groups that are resident;
//   meet_r<n>  the same with n numbers that stay live: limited by registers;
//   meet_m<n>  the same with an n-th of the scratchpad;
//   live_<n>   a multiply-add of each of n live numbers: slower where registers are spilled.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr std::array<int, 26> kLiveCoresident = {16,  32,  48,  56,  60,  64,  68,  72,  76,
                                                        80,  84,  88,  92,  96,  100, 104, 108, 112,
                                                        116, 120, 124, 128, 160, 192, 224, 248};
inline constexpr std::array<int, 16> kLive = {8,  12, 16, 24,  28,  32,  40,  48,
                                              56, 64, 96, 128, 160, 192, 224, 272};
inline constexpr std::array<int, 3> kMemoryParts = {2, 4, 8};
inline constexpr int kLiveRounds = 2;  // multiply-adds of each number in an iteration

// For groups of `lanes` threads; not among all_kernels.
ir::Kernel meet_kernel(int lanes);
ir::Kernel meet_registers_kernel(int lanes, int live);
ir::Kernel meet_memory_kernel(int lanes, int part, int64_t group_bytes);
ir::Kernel live_kernel(int lanes, int live);

std::string meet_kernel_name();
std::string meet_registers(int live);
std::string meet_memory(int part);
std::string live_name(int live);

}  // namespace assay::probe
