// How a level of memory is accessed: outstanding misses, lines of other units, false sharing. Each
// is written into the level. Pure.
#pragma once

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

// Outstanding misses (Little's law). N concurrent chases take t(N) per hop, so per unit
//
//     t(1) / min over N of t(N)
//
// misses are outstanding. Where the bandwidth limits them, or N is the largest tried, there may be
// more: the interval is open to what was tried. `level`: position in known.levels; bandwidths of
// `to` are there already. Without such observations nothing is changed.
void add_outstanding(const Observations& all, const Known& known, size_t level,
                     hwdesc::MemoryLevel& to);

// Bandwidths of a unit in lines that another unit's cache of this level holds: dirty remote read,
// dirty remote RFO, upgrade.
void add_dirty_remote_read(const Observations& all, size_t level, hwdesc::MemoryLevel& to);

// The cost of the end of a written run where another unit's begins; unknown where it is nothing.
void add_false_sharing(const Observations& all, size_t level, hwdesc::MemoryLevel& to);

}  // namespace assay::probe
