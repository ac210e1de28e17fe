// Energy drawn by a GPU, read from NVIDIA's management library, which comes with the driver.
#pragma once

#include <string>

#include "support/result.h"

namespace assay::runtime::cuda {

// Joules since the driver was loaded, of the whole board; the counter is updated about ten times a
// second. `bus`: the device's PCI address (0000:3b:00.0). Errors: no library
// ($ASSAY_NVML_LIBRARY, else the driver's); a missing function; an unknown device; a board without
// a counter.
Result<double> read_joules(const std::string& bus);

}  // namespace assay::runtime::cuda
