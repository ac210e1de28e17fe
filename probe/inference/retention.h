// How long the last cache retains data that was used once, or a few times, and how fast co-tenants
// fill it.
//
// Some caches retain reused lines before new ones (RRIP), as a model's intermediate values and
// weights are; a cyclic scan (cyclic_scan.h) reuses all of its data. All units write some data and
// read it after X other bytes, or after a pause T. Let h be the part that is held. It follows from
// the time of that read, between those of the shortest pause and of the most other bytes.
//
//     single_use_retention   X(0.9), X(0.5), X(0.1)
//
//     reuse_retention        the same of data that they used a few times before
//
//     co_tenant_eviction     X(h) / T, the median of the pauses that show it; 0 where the longest
//                            evicts next to nothing
#pragma once

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

// Of the experiment `retention`. Each visit has its own times of a hit and of far memory, since a
// host's far memory changes its speed. The geometric mean of the visits counts.
void add_single_use(const Observations& all, double units, hwdesc::MemoryLevel& to);

}  // namespace assay::probe
