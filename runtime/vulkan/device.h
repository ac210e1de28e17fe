// Vulkan devices as runtime::Devices: vulkan:0, vulkan:1, ... in the drivers' order.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"

namespace assay::runtime::vulkan {

// All devices with compute and timestamps, or the reason why there is none.
Found find();
Result<std::unique_ptr<Device>> open(const std::string& id);

}  // namespace assay::runtime::vulkan
