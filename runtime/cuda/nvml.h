// What NVIDIA's management library tells of a GPU, where its driver has brought one: energy drawn
// so far.
#pragma once

#include <string>

#include "support/result.h"

namespace assay::runtime::cuda {

// Joules since the driver was loaded, of the whole board; the counter moves some ten times a
// second. `bus`: the device's address (0000:3b:00.0). Errors: there is no library (the driver's;
// $ASSAY_NVML_LIBRARY names another), it lacks a function, does not know the device, or the board
// has no counter.
Result<double> read_joules(const std::string& bus);

}  // namespace assay::runtime::cuda
