// Did the clock change during the probe? By the sentinels of the undisturbed blocks.
#pragma once

#include <string>

#include "probe/observation.h"

namespace assay::probe {

// A sentence if the 5 % and the 95 % quantile of the clocks differ by a tenth or more, with the
// experiments in which they do; "": the clock was constant.
std::string drift_note(const Observations& all);

}  // namespace assay::probe
