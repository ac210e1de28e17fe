// What a probe found on a simulated chip against the profile the chip was made of.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::probe::testing {

// A line per difference: structure (units, lanes, levels, lines, sharing) must be the same,
// capacities lie within the measured knee, rates and latencies within `tolerance`. What either side
// does not know is not compared. Bandwidths are what reaches a unit: no more than the levels before
// it pass on.
std::vector<std::string> differences(const hwdesc::Profile& truth, const hwdesc::Profile& found,
                                     double tolerance);

// As that, but for a value that is further off its interval may hold the truth, and for levels that
// are missing the knee of one that was found: what is wrong without saying so.
std::vector<std::string> contradictions(const hwdesc::Profile& truth, const hwdesc::Profile& found,
                                        double tolerance);

}  // namespace assay::probe::testing
