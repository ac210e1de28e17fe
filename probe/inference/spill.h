// What values cost that find no register: the time of kernels with ever more of them.
#pragma once

#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/stats.h"

namespace assay::probe {

struct LiveTime {
  double values = 0;  // live at a time
  Summary step;       // of an operation on one of them
};

// Of the kernel with the most values, of which so many find a register, against the fastest that
// has room for all: what all of its operations take longer, over those that are on values without
// one. `ticks`: per second; 0: not known. Unknown, with the reason, where no kernel is beyond, or
// it is slower by no more than two kernels of one speed may differ.
hwdesc::Value<hwdesc::Latency> spill_of(const std::vector<LiveTime>& times, double fit_least,
                                        double fit_most, double ticks);

}  // namespace assay::probe
