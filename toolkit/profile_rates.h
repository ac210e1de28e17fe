// Rates that the model takes from a profile, for those who show or compare them.
#pragma once

#include "hwdesc/target.h"
#include "probe/as_probed.h"
#include "support/result.h"

namespace assay::toolkit {

// Of the whole chip.
struct PeakRates {
  double units = 0;
  double flops = 0;      // f32/s, a multiply-add counts as two, without matrix instructions
  double bandwidth = 0;  // bytes/s read from the furthest memory
};

// Errors: a profile without what predicting needs.
Result<PeakRates> peak_rates(const hwdesc::Target& target);

// Of one unit, what the host's state is compared with. Errors: as peak_rates.
Result<probe::ProfileRates> unit_rates(const hwdesc::Target& target);

}  // namespace assay::toolkit
