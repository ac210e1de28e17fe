// A scratchpad, from the experiment `scratch`. Pure.
//
//   banks:    lanes at a stride of s words, a power of two, use fewer banks the larger s is, until
//             all use one. So banks = the smallest s that takes longest, in words of 4 B. Where
//             twice the stride is never slower, banks may be wider: only the product is known.
//
//   on chip:  hops through it take as long after a read of other memory that evicts everything from
//             a cache of that latency. Where they take longer, it lies behind the caches.
#pragma once

#include <optional>

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

void add_banks(const Observations& all, hwdesc::MemoryLevel& to);

// The level that serves hops of so many seconds.
size_t answering_level(const Levels& levels, double seconds);

// Time of hops after a sweep over that before; nullopt: not measured, or unclear.
std::optional<double> slowed_by_sweep(const Observations& all, const Levels& levels = {});
inline constexpr double kEvicted = 1.3;  // from this ratio on it lies behind the caches

// The scratchpad that a driver offers. Where it lies behind the caches it is a part of far memory
// (`backed_by`). nullopt: there is none.
std::optional<hwdesc::MemoryLevel> group_memory(const Observations& all, const Known& known);

}  // namespace assay::probe
