#include "runtime/vulkan/narrow_types.h"

#include "runtime/vulkan/extensions.h"

namespace assay::runtime::vulkan {
std::string NarrowTypes::words() const {
  return std::string(f16 ? "f16 f16x2 " : "") + (i8 ? "i8 " : "") + "dot";
}

std::string NarrowTypes::stored_words() const {
  const std::string all = std::string(storage16 ? "f16 bf16 " : "") + (f16 ? "f16x2 " : "") +
                          (storage8 ? "i8 u8 " : "");
  return all.empty() ? "none" : all.substr(0, all.size() - 1);
}

NarrowTypes narrow_types_of(const Api& api, VkPhysicalDevice device) {
  NarrowTypes out;
  const auto has = [&](const char* name) { return has_extension(api, device, name); };
  const bool computes = has(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME),
             has_bytes = has(VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  auto bytes = VkPhysicalDevice8BitStorageFeatures{};
  bytes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
  auto arithmetic = VkPhysicalDeviceShaderFloat16Int8Features{};
  arithmetic.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  auto words = VkPhysicalDevice16BitStorageFeatures{};
  words.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  void* const beside = has_bytes ? &bytes : nullptr;
  arithmetic.pNext = beside;
  words.pNext = computes ? &arithmetic : beside;
  auto all = VkPhysicalDeviceFeatures2{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  all.pNext = &words;
  api.vkGetPhysicalDeviceFeatures2(device, &all);
  out.storage16 = words.storageBuffer16BitAccess != VK_FALSE;
  out.storage8 = bytes.storageBuffer8BitAccess != VK_FALSE;
  if (out.storage8) out.extensions.push_back(VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  if (out.storage8) out.extensions.push_back(VK_KHR_STORAGE_BUFFER_STORAGE_CLASS_EXTENSION_NAME);
  if (!computes) return out;
  out.int16 = all.features.shaderInt16 != VK_FALSE;
  out.f16 = arithmetic.shaderFloat16 != VK_FALSE && out.storage16;
  out.i8 = arithmetic.shaderInt8 != VK_FALSE && out.storage8;
  if (out.f16 || out.i8) out.extensions.push_back(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  return out;
}

NarrowFeatures::NarrowFeatures(const NarrowTypes& types)
    : wanted_(types.storage16 || types.storage8 || types.f16 || types.i8) {
  words_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  words_.storageBuffer16BitAccess = types.storage16;
  void* const beside = types.storage8 ? &bytes_ : nullptr;
  words_.pNext = types.f16 || types.i8 ? &arithmetic_ : beside;
  arithmetic_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  arithmetic_.shaderFloat16 = types.f16;
  arithmetic_.shaderInt8 = types.i8;
  arithmetic_.pNext = beside;
  bytes_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
  bytes_.storageBuffer8BitAccess = types.storage8;
}

}  // namespace assay::runtime::vulkan
