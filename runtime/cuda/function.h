// A loaded kernel's registers and group memory.
#pragma once

#include <cstdint>

#include "ir/kernel.h"
#include "runtime/cuda/session.h"

namespace assay::runtime::cuda {

inline constexpr int64_t kMostGroups = 0x7fffffff;  // of one launch
// A barrier of a part of a block counts whole waves of the driver.
inline constexpr int kBarrierLanes = 32;

// They are filled before a launch.
bool has_constants(const ir::Kernel& kernel);

// Of a thread; -1: the driver does not say.
int registers_of(const Api& api, Function function);

// The carve-out: per cent of a unit's memory that should be group memory, so that it does not limit
// occupancy. The rest is first-level cache. By the driver's default, a kernel without group memory
// had 28 of 256 KiB of cache on an H200. -1: the driver reports no sizes.
int group_memory_share(const Limits& limits, int64_t group_bytes, int64_t threads, int registers);
// The same for so many groups on a unit.
int share_of_groups(const Limits& limits, int64_t group_bytes, int64_t groups);

// Lets it have so much group memory, and asks for the carve-out unless that is -1.
Status set_group_memory(const Api& api, Function function, int64_t group_bytes, int share);

}  // namespace assay::runtime::cuda
