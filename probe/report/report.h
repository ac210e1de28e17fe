// Observations and the profile inferred from them as one HTML page: charts of every raw sample,
// values with intervals, what is unknown and why, how the experiments ended.
//
// The page is self-contained: styles, script, data and the chart library are in it, nothing is
// fetched. Tables are plain HTML and readable without a script. Pure: the same input gives the same
// bytes.
#pragma once

#include <string>

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

std::string report_html(const Observations& all, const hwdesc::Profile& profile);

}  // namespace assay::probe
