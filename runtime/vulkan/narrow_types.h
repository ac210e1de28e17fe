// Element types below 32 bits: whether a device has arithmetic and storage for them, and the
// features and extensions to enable.
#pragma once

#include <string>
#include <vector>

#include "runtime/vulkan/api.h"

namespace assay::runtime::vulkan {

struct NarrowTypes {
  bool f16 = false, i8 = false, int16 = false;
  bool storage16 = false, storage8 = false;  // buffers have elements of 16, of 8 bits
  std::vector<const char*> extensions;       // to enable

  // As in DeviceInfo's fact "types".
  std::string words() const;
  // As in its fact "stores": f16, bf16, i8 and u8 need no arithmetic, since accesses convert.
  std::string stored_words() const;
};

NarrowTypes narrow_types_of(const Api& api, VkPhysicalDevice device);

// The feature chain for creating a device whose kernels use these types.
class NarrowFeatures {  // invariant: each feature points to the next one
 public:
  explicit NarrowFeatures(const NarrowTypes& types);
  NarrowFeatures(const NarrowFeatures&) = delete;
  NarrowFeatures& operator=(const NarrowFeatures&) = delete;
  const void* chain() const { return wanted_ ? &words_ : nullptr; }

 private:
  bool wanted_;
  VkPhysicalDeviceShaderFloat16Int8Features arithmetic_{};
  VkPhysicalDevice16BitStorageFeatures words_{};
  VkPhysicalDevice8BitStorageFeatures bytes_{};
};

}  // namespace assay::runtime::vulkan
