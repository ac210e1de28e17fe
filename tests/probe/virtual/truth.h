// What a probe found on a simulated chip, against the chip's profile.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::probe::testing {

// A line per difference. Structure (units, lanes, levels, lines, sharing) must be the same,
// capacities within the measured knee, rates and latencies within `tolerance`. What either side
// does not know is not compared. Bandwidths are those that reach a unit, limited by the levels
// before.
std::vector<std::string> differences(const hwdesc::Profile& truth, const hwdesc::Profile& found,
                                     double tolerance);

// The same, but a value that differs by more may have an interval that holds the truth, and a
// missing level a knee that does. Returns what is wrong and looks certain.
std::vector<std::string> contradictions(const hwdesc::Profile& truth, const hwdesc::Profile& found,
                                        double tolerance);

}  // namespace assay::probe::testing
