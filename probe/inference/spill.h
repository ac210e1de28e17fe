// What a spill costs: the time of kernels with more and more live values.
#pragma once

#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/stats.h"

namespace assay::probe {

struct LiveTime {
  double values = 0;  // live at a time
  Summary step;       // of an operation on one of them
};

// Of the kernel with the most values, over the fastest one that fits: what all of its operations
// take longer, per operation on a spilled value. `fit_least`, `fit_most`: values that find a
// register. `ticks`: per second; 0: not known. Unknown, with the reason, where no kernel spills, or
// it is slower by no more than two kernels of one speed may differ.
hwdesc::Value<hwdesc::Latency> spill_of(const std::vector<LiveTime>& times, double fit_least,
                                        double fit_most, double ticks);

}  // namespace assay::probe
