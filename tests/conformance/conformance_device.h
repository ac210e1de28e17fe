// The device that this process tests, how much of it, and what stands for it in compiling. ctest
// has a row for each kind of device; ASSAY_TEST_DEVICE names it.
#pragma once

#include <memory>
#include <string>

#include "hwdesc/target.h"
#include "runtime/device.h"
#include "support/result.h"

namespace assay::test {

// Cases whose kernels and buffers share a module: every run checks the guards of all its buffers.
inline constexpr size_t kBatch = 128;

// ASSAY_TEST_EVERY=5 tests every fifth case, for devices whose driver builds slowly; without it,
// all. Throws on what is no count.
int tested_every();

// nullptr: this machine has none of its kind, and the reason is in `absence`.
// Throws where there is one that does not open, or none that was asked for.
std::unique_ptr<runtime::Device> open_tested_device(std::string& absence);

// The library's round figures for this kind of processor, through one of its apis.
Result<hwdesc::Target> target_for(const std::string& api);

}  // namespace assay::test
