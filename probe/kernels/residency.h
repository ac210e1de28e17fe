// How many groups are under way at once, and what that depends on.
//
//   meet       each group says that it has come, then looks again and again, a bounded number of
//   times, how many have:
//              nobody waits for anybody. The first to leave has seen all that can be under way at
//              once, and no more.
//   meet_r<n>  the same with n numbers that are live all the while: registers are given out
//   meet_m<n>  the same with a part in n of the memory a group may have
//   live_<n>   a multiply-add of each of n live numbers: where registers do not suffice, it takes
//   longer
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr std::array<int, 26> kLiveMeeting = {16,  32,  48,  56,  60,  64,  68,  72,  76,
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

std::string meet_name();
std::string meet_registers(int live);
std::string meet_memory(int part);
std::string live_name(int live);

}  // namespace assay::probe
