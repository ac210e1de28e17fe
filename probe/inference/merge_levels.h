// Caches that the latency curve shows but nothing else does are one cache.
//
// A sliced, hashed or shared last-level cache smears its knee over a decade, and address
// translation adds steps of its own: the curve then has plateaus that no program would notice. Two
// neighbouring cache levels are joined when the farther one is not slower in any way that counts:
//   latency less than kMinStep times the nearer one's, or bandwidth that is unknown or not smaller
// (all units together), or, where units share both, streaming through all of them shows less than
// the step of a level (streamed.h). The joined level begins to miss where the nearer did and ends
// where the farther did; between its knees the model blends.
#pragma once

#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/cyclic_scan.h"

namespace assay::probe {

// `core_hz`: of the clock that ticks refer to; `units`: in the device; `declared`: caches that the
// system speaks of, of which none is joined away; `chase`: the latency curve, whose sudden steps
// are two caches in any case. Names follow the new order. A cache that answered no faster than what
// lies beyond it was measured while others used it: its latency is unknown then.
void join_levels(std::vector<hwdesc::MemoryLevel>& memory, double core_hz, double units,
                 const Sweep& sweep = {}, size_t declared = 0,
                 std::span<const CurvePoint> chase = {});

}  // namespace assay::probe
