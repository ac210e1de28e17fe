// Does a probe of a simulated chip give back what it executes with: operations by type, widths,
// registers, residency?
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::probe::testing {

// Of every operation that the truth knows slots and latency of: rates per unit and latencies that
// are further apart than `tolerance`, and operations that were not found.
std::vector<std::string> wrong_operations(const hwdesc::Profile& truth,
                                          const hwdesc::Profile& found, double tolerance);

}  // namespace assay::probe::testing
