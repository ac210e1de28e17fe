// Values that no chip is known to have. Each may be right on its own, so they are warnings.
//
// - bandwidth: a farther memory reads faster than a nearer one, all instances together.
// - latency: a farther memory answers sooner.
// - capacity: an instance of a farther memory is not larger.
// - rate: a pipe, or an operation on it, does more elements a second than issue rate x widest lanes
//   x instances. Packed types count by their bytes.
//
// Intervals that overlap are no contradiction. Memories are compared along the way of a load:
// caches of one path, then the memory of the device; scratchpads on their own, then that memory.
#pragma once

#include "hwdesc/findings.h"

namespace assay::hwdesc {

void check_plausible(Findings& out, const Profile& profile);

}  // namespace assay::hwdesc
