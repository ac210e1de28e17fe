// The device under test (ASSAY_TEST_DEVICE), the part of the cases that runs on it, and the profile
// to compile for. ctest has a row for each kind of device.
#pragma once

#include <memory>
#include <string>

#include "hwdesc/target.h"
#include "runtime/device.h"
#include "support/result.h"

namespace assay::test {

// Cases whose kernels and buffers share a module: every run checks the guards of all its buffers.
inline constexpr size_t kBatch = 128;

// ASSAY_TEST_EVERY=5 tests every fifth case, for drivers that build slowly; without it, all. Throws
// if it is no count.
int tested_every();

// nullptr: this machine has no such device, with the reason in `absence`. Throws if it exists and
// does not open, or if none was named.
std::unique_ptr<runtime::Device> open_tested_device(std::string& absence);

// The library's profile for this kind of processor, with one of its apis.
Result<hwdesc::Target> target_for(const std::string& api);

}  // namespace assay::test
