// The Vulkan driver, loaded at run time: the build needs its headers, not its library.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/result.h"

namespace assay::runtime::vulkan {

#define ASSAY_VULKAN_GLOBAL(X) X(vkCreateInstance)
// clang-format off
#define ASSAY_VULKAN_INSTANCE(X) \
  X(vkDestroyInstance) X(vkEnumeratePhysicalDevices) X(vkGetPhysicalDeviceProperties) \
  X(vkGetPhysicalDeviceProperties2) X(vkGetPhysicalDeviceFeatures) \
  X(vkGetPhysicalDeviceFeatures2) X(vkGetPhysicalDeviceMemoryProperties) \
  X(vkGetPhysicalDeviceQueueFamilyProperties) X(vkGetPhysicalDeviceImageFormatProperties) \
  X(vkEnumerateDeviceExtensionProperties) X(vkCreateDevice) X(vkGetDeviceProcAddr)
#define ASSAY_VULKAN_DEVICE(X) \
  X(vkDestroyDevice) X(vkGetDeviceQueue) X(vkDeviceWaitIdle) X(vkQueueSubmit) X(vkCreateFence) \
  X(vkDestroyFence) X(vkResetFences) X(vkWaitForFences) X(vkCreateBuffer) X(vkDestroyBuffer) \
  X(vkGetBufferMemoryRequirements) X(vkAllocateMemory) X(vkFreeMemory) X(vkBindBufferMemory) \
  X(vkMapMemory) X(vkCreateImage) X(vkDestroyImage) X(vkGetImageMemoryRequirements) \
  X(vkBindImageMemory) X(vkCreateImageView) X(vkDestroyImageView) X(vkCmdCopyBufferToImage) \
  X(vkCmdCopyImageToBuffer) X(vkCreateShaderModule) X(vkDestroyShaderModule) \
  X(vkCreatePipelineCache) X(vkDestroyPipelineCache) X(vkGetPipelineCacheData) \
  X(vkCreateDescriptorSetLayout) X(vkDestroyDescriptorSetLayout) X(vkCreatePipelineLayout) \
  X(vkDestroyPipelineLayout) X(vkCreateComputePipelines) X(vkDestroyPipeline) \
  X(vkCreateDescriptorPool) X(vkDestroyDescriptorPool) X(vkAllocateDescriptorSets) \
  X(vkUpdateDescriptorSets) X(vkCreateCommandPool) X(vkDestroyCommandPool) \
  X(vkResetCommandPool) X(vkAllocateCommandBuffers) X(vkBeginCommandBuffer) \
  X(vkEndCommandBuffer) X(vkCreateQueryPool) X(vkDestroyQueryPool) X(vkGetQueryPoolResults) \
  X(vkCmdResetQueryPool) X(vkCmdWriteTimestamp) X(vkCmdBindPipeline) X(vkCmdBindDescriptorSets) \
  X(vkCmdPushConstants) X(vkCmdDispatch) X(vkCmdPipelineBarrier) X(vkCmdCopyBuffer) \
  X(vkCmdFillBuffer)
// clang-format on

struct Api {  // functions of one instance, and of one device of it once there is one
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
#define ASSAY_DECLARE(name) PFN_##name name = nullptr;
  ASSAY_VULKAN_GLOBAL(ASSAY_DECLARE)
  ASSAY_VULKAN_INSTANCE(ASSAY_DECLARE)
  ASSAY_VULKAN_DEVICE(ASSAY_DECLARE)
  // Of an extension: nullptr where no driver has it.
  ASSAY_DECLARE(vkGetPhysicalDeviceCooperativeMatrixPropertiesNV)
#undef ASSAY_DECLARE
};

// Drivers start threads with an instance, and child processes do not inherit threads. So each user
// makes an instance of its own.
class Instance {  // invariant: handle_ is an instance, api_ its functions
 public:
  // From the library named by $ASSAY_VULKAN_LIBRARY, else the system's loader. Errors: no library;
  // a missing function; no driver.
  static Result<std::shared_ptr<const Instance>> make();

  Instance(const Api& api, VkInstance handle) : api_(api), handle_(handle) {}
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance() { api_.vkDestroyInstance(handle_, nullptr); }

  const Api& api() const { return api_; }
  // Devices whose compute queues have timestamps, in the drivers' order. Errors: no driver answers.
  Result<std::vector<VkPhysicalDevice>> list_devices() const;

 private:
  Api api_;
  VkInstance handle_;
};

// Looks up the functions of a device. Errors: the driver lacks one.
Diags load_device_functions(Api& api, VkDevice device);

// The constant's name (VK_ERROR_DEVICE_LOST), or the number.
std::string name_of(VkResult status);

// The failed call and its status, with a hint where there is one.
Diag failure(const std::string& call, VkResult status);

// A Vulkan struct with its sType set.
template <class T>
T made(VkStructureType type) {
  T t{};
  t.sType = type;
  return t;
}

// Owner of an object of a device: destroys it with a function of the api.
template <class T>
class Owned {  // invariant: holds one object, or none
 public:
  using Destroy = void(VKAPI_PTR*)(VkDevice, T, const VkAllocationCallbacks*);
  Owned() = default;
  Owned(VkDevice device, T handle, Destroy destroy)
      : device_(device), handle_(handle), destroy_(destroy) {}
  Owned(Owned&& o) noexcept { swap(o); }
  Owned& operator=(Owned&& o) noexcept {
    swap(o);
    return *this;
  }
  ~Owned() {
    if (handle_ != VK_NULL_HANDLE) destroy_(device_, handle_, nullptr);
  }
  T get() const { return handle_; }

 private:
  void swap(Owned& o) noexcept {
    std::swap(device_, o.device_);
    std::swap(handle_, o.handle_);
    std::swap(destroy_, o.destroy_);
  }
  VkDevice device_ = VK_NULL_HANDLE;
  T handle_ = VK_NULL_HANDLE;
  Destroy destroy_ = nullptr;
};

}  // namespace assay::runtime::vulkan
