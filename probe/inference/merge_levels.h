// Caches that the latency curve shows but nothing else does are one cache.
//
// A sliced, hashed or shared last-level cache smears its knee over a decade, and translation adds
// steps of its own. The curve then has plateaus that no program would notice. Two neighbouring
// cache levels are joined where the farther one is not slower in one of these ways:
//   - its latency is less than kMinStep times the nearer one's;
//   - its bandwidth, of all units together, is unknown or not smaller;
//   - units share both, and streaming through all of them shows less than a level's step
//     (cyclic_scan.h).
//
// The joined level begins to miss where the nearer did and ends where the farther did. Between its
// knees the model blends.
#pragma once

#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/cyclic_scan.h"

namespace assay::probe {

// `core_hz`: of the clock of ticks; `units`: in the device; `declared`: caches of the system, none
// of which is joined; `chase`: the latency curve, whose sharp steps separate caches in any case.
// Names follow the new order. A cache that was no faster than the next level was measured while
// co-tenants used it: its latency becomes unknown.
void join_levels(std::vector<hwdesc::MemoryLevel>& memory, double core_hz, double units,
                 const Sweep& sweep = {}, size_t declared = 0,
                 std::span<const CurvePoint> chase = {});

}  // namespace assay::probe
