// Cooperative matrices of a subgroup (VK_NV_cooperative_matrix): whether a device has them, and in
// which shapes and types.
#pragma once

#include <string>

#include "runtime/vulkan/api.h"

namespace assay::runtime::vulkan {

// As in DeviceInfo's fact "cooperative_matrix": words such as 16x16x16.f16.f32, m x n x k with the
// types of a and b, and of c. Empty: it has none.
std::string cooperative_shapes(const Api& api, VkPhysicalDevice device);

// The word of one shape; empty: of types that no instruction has.
std::string word_of(const VkCooperativeMatrixPropertiesNV& p);

}  // namespace assay::runtime::vulkan
