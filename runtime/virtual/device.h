// `virtual:NAME`: a simulated chip, made from a profile. It executes loop kernels and returns the
// times they would take.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"

namespace assay::runtime::simulated {

inline constexpr const char* kPrefix = "virtual:";

// How to name one, in one line: there is a device for every profile.
Found find();

// `id`: kPrefix, then a profile of the library, a file with one, or a file of `assay/virtual/1`.
// Errors: those of reading them; an unknown name, with a similar one.
Result<std::unique_ptr<Device>> open(const std::string& id);

}  // namespace assay::runtime::simulated
