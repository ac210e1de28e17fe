// A group's own memory, from the experiment `scratch`. Pure.
//
//   banks       lanes s words apart meet in fewer banks the larger a power of two s is, until all
//   are in one:
//               banks = the smallest s that takes longest. Counted in words of 4 B; where twice the
//               distance is not slower from the start, banks may be wider, and only their product
//               is known.
//   on chip     hops through it take as long after so much other memory was read as drives
//   everything out of the cache that
//               would answer them so fast; where they do not, it lies behind the caches.
#pragma once

#include <optional>

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

void add_banks(const Observations& all, hwdesc::MemoryLevel& to);

// The level that hops of so many seconds are answered by, if by any.
size_t answers(const Levels& levels, double seconds);

// How many times as long hops take after a sweep; nullopt: not measured, or not told.
std::optional<double> slowed_by_sweep(const Observations& all, const Levels& levels = {});
inline constexpr double kEvicted = 1.3;  // from this ratio on it lies behind the caches

}  // namespace assay::probe
