// CUDA devices as runtime::Devices: cuda:0, cuda:1, ... in the driver's order.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"

namespace assay::runtime::cuda {

// All devices of the driver, or the reason why there is none.
Found find();
Result<std::unique_ptr<Device>> open(const std::string& id);

}  // namespace assay::runtime::cuda
