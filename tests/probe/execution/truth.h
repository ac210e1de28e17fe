// Does a probe of a simulated chip find how it executes: operations by type, widths, registers,
// residency?
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::probe::testing {

// Of every operation with known slots and latency: rates per unit and latencies that differ by more
// than `tolerance`, and operations that were not found.
std::vector<std::string> wrong_operations(const hwdesc::Profile& truth,
                                          const hwdesc::Profile& found, double tolerance);

}  // namespace assay::probe::testing
