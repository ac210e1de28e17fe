// OpenCL devices as runtime::Devices: opencl:0, opencl:1, ... in the driver's order.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"

namespace assay::runtime::opencl {

// All devices of all drivers, or the reason why there is none.
Found find();
Result<std::unique_ptr<Device>> open(const std::string& id);

}  // namespace assay::runtime::opencl
