// What the last cache keeps of data that was used once, and how fast others than the device fill
// it.
//
// Some caches keep what was used again before what comes in for the first time, as intermediate
// values and weights do; a sweep (streamed.h) uses all of it again. All units write some data and
// read it behind X other bytes, or behind a pause T: with h the part still held, by the times of
// that, of the shortest pause and of the most other bytes,
//     X(0.9), X(0.5), X(0.1)                         are `passed`, and of what they have used a few
//     times before `kept`, X(h) / T                                       came in meanwhile, the
//     median of the pauses that show it:
// 0 where the longest drives out next to nothing.
#pragma once

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

// Of the experiment `untouched`. Each visit has its own near and far, since a host's far memory is
// faster at one time than at another; of what they tell the geometric mean counts.
void add_single_use(const Observations& all, double units, hwdesc::MemoryLevel& to);

}  // namespace assay::probe
