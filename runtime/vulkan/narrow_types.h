// Element types below 32 bits: whether a device computes on them and keeps them in buffers, and how
// it is asked to.
#pragma once

#include <string>
#include <vector>

#include "runtime/vulkan/api.h"

namespace assay::runtime::vulkan {

struct NarrowTypes {
  bool f16 = false, i8 = false, int16 = false;
  std::vector<const char*> extensions;  // to be asked for

  // As DeviceInfo's fact "types" has them.
  std::string words() const;
};

NarrowTypes narrow_types_of(const Api& api, VkPhysicalDevice device);

// What a device is created with, so that its kernels may have them.
class NarrowFeatures {  // invariant: each feature points to the next one
 public:
  explicit NarrowFeatures(const NarrowTypes& types);
  NarrowFeatures(const NarrowFeatures&) = delete;
  NarrowFeatures& operator=(const NarrowFeatures&) = delete;
  const void* chain() const { return wanted_ ? &arithmetic_ : nullptr; }

 private:
  bool wanted_;
  VkPhysicalDeviceShaderFloat16Int8Features arithmetic_{};
  VkPhysicalDevice16BitStorageFeatures words_{};
  VkPhysicalDevice8BitStorageFeatures bytes_{};
};

}  // namespace assay::runtime::vulkan
