// A device, or what was seen of one before, -> a profile.
#pragma once

#include <string>

#include "base/result.h"
#include "probe/probe.h"

namespace assay::toolkit {

// Errors: no such device, and what probe::probe says.
Result<probe::ProbeResult> measure(const std::string& device, const probe::ProbeOptions& options);

// From a journal alone. Errors: none there, or a wrong one.
Result<probe::ProbeResult> measure_again(const std::string& observations);

}  // namespace assay::toolkit
