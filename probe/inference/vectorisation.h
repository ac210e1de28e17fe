// Does a kernel language's compiler make vectors of scalar operations on neighbouring elements?
// What kernels/joined.h tells.
#pragma once

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

// Lanes of the longest vectors that it makes, at most `most`; 1: none. Unknown: not measured.
hwdesc::Value<hwdesc::Count> slp_lanes(const Observations& all, int most);

// Threads' loads of neighbouring words that are one; turns of a loop whose loads stand together, of
// which each takes `latency` seconds alone.
hwdesc::Value<hwdesc::Count> merged_loads(const Observations& all);
hwdesc::Value<hwdesc::Count> unrolled_turns(const Observations& all, double latency);

}  // namespace assay::probe
