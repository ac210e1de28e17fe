// The CPU as a runtime::Device: the compiler that builds its kernels and the pool that runs them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace assay::runtime::cpu {

// cpu:0, if there is a C++ compiler.
Found find();
Result<std::unique_ptr<Device>> open();

}  // namespace assay::runtime::cpu
