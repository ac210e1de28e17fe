// `virtual:NAME`: a simulated chip, made of a profile. It runs loop kernels, and tells the time
// they would take.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"

namespace assay::runtime::simulated {

inline constexpr const char* kPrefix = "virtual:";

// One line that says how to name one: there is a device for every profile.
Found find();

// `id`: kPrefix, then a profile of the library, a file with one, or a file of `assay/virtual/1`.
// Errors: what reading them finds; an unknown name, with a near one.
Result<std::unique_ptr<Device>> open(const std::string& id);

}  // namespace assay::runtime::simulated
