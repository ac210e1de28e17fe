// Did the clock change during the probe? By the sentinels next to the blocks that nobody disturbed.
#pragma once

#include <string>

#include "probe/observation.h"

namespace assay::probe {

// A sentence for readers where the 5 % and the 95 % quantile of the clocks are a tenth apart or
// more, with the experiments in which they are; "": it held.
std::string drift_note(const Observations& all);

}  // namespace assay::probe
