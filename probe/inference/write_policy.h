// What a store that misses a cache does, from the experiment `write_policy`. Pure.
//
// Other memory evicts a footprint from the cache. Then it is read, written and read again, or only
// some of it. Times are of the last read, by the difference to the same without it:
//   - cold: nothing before it;
//   - warm: it was read before;
//   - written: it was written before;
//   - updated: it was read, then written.
//
// A cache that allocates holds what was written: `written` is as fast as `warm`. In one that does
// not, `written` is as slow as `cold`. If it writes through, what it held is still there: `updated`
// is as fast as `warm`. If it writes around, it is evicted.
#pragma once

#include <array>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

struct Rewrite {
  const char* name;
  bool before, written, after;  // read before, written, read after
};
inline constexpr std::array<Rewrite, 7> kRewrites = {{{"others", false, false, false},
                                                      {"cold", false, false, true},
                                                      {"warm", true, false, true},
                                                      {"write", false, true, false},
                                                      {"written", false, true, true},
                                                      {"update", true, true, false},
                                                      {"updated", true, true, true}}};

// `level`: position in known.levels. Unknown: unclear.
hwdesc::WritePolicy write_policy_of(const Observations& all, size_t level);

// A cache that does not allocate forwards stores to farther memory, so its write bandwidth is at
// least that one's. Its own measurement may show less, since few groups write the few bytes it
// holds. `memory`: near to far; `core_hz`: of what is in ticks; `units`: of the device.
void raise_write_bandwidth(std::vector<hwdesc::MemoryLevel>& memory, double core_hz, double units);

}  // namespace assay::probe
