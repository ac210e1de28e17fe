// What a store that misses a cache does, from the experiment `rewrite`. Pure.
//
// Other memory drives a footprint out of the cache. Then it is read, written and read again, or
// only some of it; times are of the last reading, by the difference to the same without it:
//   cold      nothing before it                      warm      it was read before
//   written   it was written before                  updated   it was read, then written
// A cache that allocates has what was written: `written` is as fast as `warm`. One that does not is
// as slow as `cold`; if it is written through, what was there before is still there: `updated` is
// as fast as `warm`; around: it has gone.
#pragma once

#include <array>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

struct Rewrite {
  const char* name;
  bool before, written, after;
};
inline constexpr std::array<Rewrite, 7> kRewrites = {{{"others", false, false, false},
                                                      {"cold", false, false, true},
                                                      {"warm", true, false, true},
                                                      {"write", false, true, false},
                                                      {"written", false, true, true},
                                                      {"update", true, true, false},
                                                      {"updated", true, true, true}}};

// `level`: position in known.levels. unknown: not told.
hwdesc::WritePolicy write_policy_of(const Observations& all, size_t level);

// Stores that go on to farther memory pass every cache on the way: one that is not known to keep
// them is no slower than what lies behind it, though in so few bytes as it holds few groups write.
// `memory`: near to far; `core_hz`: of what goes by ticks; `units`: of the device.
void settle_retention(std::vector<hwdesc::MemoryLevel>& memory, double core_hz, double units);

}  // namespace assay::probe
