#include "runtime/vulkan/narrow_types.h"

#include "runtime/vulkan/extensions.h"

namespace assay::runtime::vulkan {
std::string NarrowTypes::words() const {
  return std::string(f16 ? "f16 f16x2 " : "") + (i8 ? "i8 " : "") + "dot";
}

NarrowTypes narrow_types_of(const Api& api, VkPhysicalDevice device) {
  NarrowTypes out;
  const auto has = [&](const char* name) { return has_extension(api, device, name); };
  if (!has(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME)) return out;
  const bool has_bytes = has(VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  auto bytes = VkPhysicalDevice8BitStorageFeatures{};
  bytes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
  auto words = VkPhysicalDevice16BitStorageFeatures{};
  words.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  words.pNext = has_bytes ? &bytes : nullptr;
  auto arithmetic = VkPhysicalDeviceShaderFloat16Int8Features{};
  arithmetic.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  arithmetic.pNext = &words;
  auto all = VkPhysicalDeviceFeatures2{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  all.pNext = &arithmetic;
  api.vkGetPhysicalDeviceFeatures2(device, &all);
  out.int16 = all.features.shaderInt16 != VK_FALSE;
  out.f16 = arithmetic.shaderFloat16 != VK_FALSE && words.storageBuffer16BitAccess != VK_FALSE;
  out.i8 = arithmetic.shaderInt8 != VK_FALSE && bytes.storageBuffer8BitAccess != VK_FALSE;
  if (!out.f16 && !out.i8) return out;
  out.extensions.push_back(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  if (out.i8) out.extensions.push_back(VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  if (out.i8) out.extensions.push_back(VK_KHR_STORAGE_BUFFER_STORAGE_CLASS_EXTENSION_NAME);
  return out;
}

NarrowFeatures::NarrowFeatures(const NarrowTypes& types) : wanted_(types.f16 || types.i8) {
  arithmetic_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  arithmetic_.shaderFloat16 = types.f16;
  arithmetic_.shaderInt8 = types.i8;
  arithmetic_.pNext = &words_;
  words_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  words_.storageBuffer16BitAccess = types.f16;
  words_.pNext = types.i8 ? &bytes_ : nullptr;
  bytes_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
  bytes_.storageBuffer8BitAccess = types.i8;
}

}  // namespace assay::runtime::vulkan
