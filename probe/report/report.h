// Observations and the profile inferred from them as one HTML page: charts of every raw sample with
// what was read from them, values with intervals, what is unknown and why, how the experiments
// went.
//
// The page stands alone: styles, script, data and the library of charts are in it, nothing is
// fetched. Tables are plain HTML and readable without a script. Pure: the same input gives the same
// bytes.
#pragma once

#include <string>

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

std::string report_html(const Observations& all, const hwdesc::Profile& profile);

}  // namespace assay::probe
