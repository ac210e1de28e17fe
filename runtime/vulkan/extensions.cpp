#include "runtime/vulkan/extensions.h"

#include <algorithm>

namespace assay::runtime::vulkan {

bool has_extension(const Api& api, VkPhysicalDevice device, const char* name) {
  uint32_t count = 0;
  api.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  api.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
  all.resize(count);
  return std::any_of(all.begin(), all.end(), [&](const VkExtensionProperties& e) {
    return std::string(e.extensionName) == name;
  });
}

bool has_robust_images(const Api& api, VkPhysicalDevice device) {
  if (!has_extension(api, device, kRobustImages)) return false;
  auto robust = made<VkPhysicalDeviceImageRobustnessFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_ROBUSTNESS_FEATURES_EXT);
  auto all = made<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  all.pNext = &robust;
  api.vkGetPhysicalDeviceFeatures2(device, &all);
  return robust.robustImageAccess != VK_FALSE;
}

}  // namespace assay::runtime::vulkan
