#include "runtime/vulkan/cooperative.h"

#include <fmt/format.h>

#include <vector>

#include "runtime/vulkan/extensions.h"

namespace assay::runtime::vulkan {
namespace {

const char* name_of_type(VkComponentTypeNV t) {
  switch (t) {
    case VK_COMPONENT_TYPE_FLOAT16_NV:
      return "f16";
    case VK_COMPONENT_TYPE_FLOAT32_NV:
      return "f32";
    case VK_COMPONENT_TYPE_SINT8_NV:
      return "i8";
    case VK_COMPONENT_TYPE_SINT32_NV:
      return "i32";
    default:
      return "";
  }
}

}  // namespace

std::string word_of(const VkCooperativeMatrixPropertiesNV& p) {
  const std::string a = name_of_type(p.AType), c = name_of_type(p.CType);
  if (p.scope != VK_SCOPE_SUBGROUP_NV || a.empty() || c.empty() || p.AType != p.BType ||
      p.CType != p.DType)
    return "";
  return fmt::format("{}x{}x{}.{}.{}", p.MSize, p.NSize, p.KSize, a, c);
}

std::string cooperative_shapes(const Api& api, VkPhysicalDevice device) {
  if (!has_extension(api, device, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME) ||
      api.vkGetPhysicalDeviceCooperativeMatrixPropertiesNV == nullptr)
    return "";
  auto feature = made<VkPhysicalDeviceCooperativeMatrixFeaturesNV>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV);
  auto features = made<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.pNext = &feature;
  api.vkGetPhysicalDeviceFeatures2(device, &features);
  if (feature.cooperativeMatrix == VK_FALSE) return "";
  uint32_t count = 0;
  if (api.vkGetPhysicalDeviceCooperativeMatrixPropertiesNV(device, &count, nullptr) != VK_SUCCESS)
    return "";
  std::vector<VkCooperativeMatrixPropertiesNV> all(
      count,
      made<VkCooperativeMatrixPropertiesNV>(VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV));
  if (api.vkGetPhysicalDeviceCooperativeMatrixPropertiesNV(device, &count, all.data()) !=
      VK_SUCCESS)
    return "";
  std::string out;
  for (const VkCooperativeMatrixPropertiesNV& p : all)
    if (const std::string word = word_of(p); !word.empty()) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace assay::runtime::vulkan
