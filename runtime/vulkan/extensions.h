// Extensions beyond the Vulkan version in use.
#pragma once

#include "runtime/vulkan/api.h"

namespace assay::runtime::vulkan {

bool has_extension(const Api& api, VkPhysicalDevice device, const char* name);

// Reads outside of an image are 0, where Vulkan itself leaves them undefined.
inline constexpr const char* kRobustImages = VK_EXT_IMAGE_ROBUSTNESS_EXTENSION_NAME;
bool has_robust_images(const Api& api, VkPhysicalDevice device);

}  // namespace assay::runtime::vulkan
