// What is known of how a level of memory is accessed, from the observations: written into the
// level. Pure.
#pragma once

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

// Misses under way at once (Little's law): N chases side by side take t(N) per hop; the most that
// are on their way is
//     t(1) / min over N of t(N),
// per unit. Where the level hands over no more bytes, or N is the largest tried, its queue may be
// longer: the interval is open to what was tried. `level`: position in known.levels; bandwidths of
// `to` are there already. Without such observations nothing is changed.
void add_outstanding(const Observations& all, const Known& known, size_t level,
                     hwdesc::MemoryLevel& to);

// What a unit reaches, reading what another one has just written into its cache of this level.
void add_dirty_remote_read(const Observations& all, size_t level, hwdesc::MemoryLevel& to);

// What the end of a written run costs behind which another unit writes; unknown where that is
// nothing.
void add_false_sharing(const Observations& all, size_t level, hwdesc::MemoryLevel& to);

}  // namespace assay::probe
