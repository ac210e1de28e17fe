// Does a kernel language's compiler vectorise scalar operations on neighbouring elements? From the
// kernels of kernels/vectorisation.h.
#pragma once

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

// Lanes of the longest SLP vectors that it makes, at most `most`; 1: none. Unknown: not measured.
hwdesc::Value<hwdesc::Count> slp_lanes(const Observations& all, int most);

// Neighbouring words that threads load with one instruction, and iterations of a loop whose loads
// are batched. `latency`: seconds of each load alone.
hwdesc::Value<hwdesc::Count> merged_loads(const Observations& all);
hwdesc::Value<hwdesc::Count> unrolled_iterations(const Observations& all, double latency);

}  // namespace assay::probe
