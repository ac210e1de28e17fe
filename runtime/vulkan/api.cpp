#include "runtime/vulkan/api.h"

#define VULKAN_HPP_NO_EXCEPTIONS
#define VULKAN_HPP_DISPATCH_LOADER_DYNAMIC 1
#include <fmt/format.h>

#include <cstdlib>
#include <vulkan/vulkan.hpp>

namespace assay::runtime::vulkan {
namespace {

constexpr const char* kHint = "apt install libvulkan1 and a driver, such as mesa-vulkan-drivers";

// The loader's first function; the library is never closed.
PFN_vkGetInstanceProcAddr open_library(Diags& faults) {
  const char* chosen = std::getenv("ASSAY_VULKAN_LIBRARY");
  const std::string name = chosen == nullptr ? "" : chosen;
  static const vk::DynamicLoader library(name);  // "": the names that systems give it
  if (!library.success()) {
    faults.push_back(error(fmt::format("no Vulkan library: {} can not be opened",
                                       name.empty() ? "libvulkan.so.1" : name),
                           kHint));
    return nullptr;
  }
  const auto get = library.getProcAddress<PFN_vkGetInstanceProcAddr>("vkGetInstanceProcAddr");
  if (get == nullptr)
    faults.push_back(error("the Vulkan library lacks the function vkGetInstanceProcAddr"));
  return get;
}

Diag lacks(const char* name) {
  return error(fmt::format("the Vulkan library lacks the function {}", name));
}

// Does a queue of the device have compute and timestamps?
bool can_compute(const Api& api, VkPhysicalDevice device) {
  uint32_t count = 0;
  api.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  VkPhysicalDeviceProperties p{};
  api.vkGetPhysicalDeviceProperties(device, &p);
  for (const VkQueueFamilyProperties& f : families)
    if ((f.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && f.timestampValidBits > 0)
      return p.apiVersion >= VK_API_VERSION_1_1;
  return false;
}

}  // namespace

Result<std::shared_ptr<const Instance>> Instance::make() {
  Diags faults;
  const auto get = open_library(faults);
  if (get == nullptr) return faults;
  Api api;
  api.vkGetInstanceProcAddr = get;
#define ASSAY_LOOK_UP(name)                                     \
  api.name = reinterpret_cast<PFN_##name>(get(nullptr, #name)); \
  if (api.name == nullptr) return lacks(#name);
  ASSAY_VULKAN_GLOBAL(ASSAY_LOOK_UP)
#undef ASSAY_LOOK_UP
  auto about = made<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  about.pApplicationName = "assay";
  about.apiVersion = VK_API_VERSION_1_1;
  auto wanted = made<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  wanted.pApplicationInfo = &about;
  VkInstance handle = VK_NULL_HANDLE;
  const VkResult status = api.vkCreateInstance(&wanted, nullptr, &handle);
  if (status == VK_ERROR_INCOMPATIBLE_DRIVER)
    return error("the Vulkan loader finds no driver", kHint);
  if (status != VK_SUCCESS) return failure("vkCreateInstance", status);
#define ASSAY_LOOK_UP(name)                                    \
  api.name = reinterpret_cast<PFN_##name>(get(handle, #name)); \
  if (api.name == nullptr) return lacks(#name);
  ASSAY_VULKAN_INSTANCE(ASSAY_LOOK_UP)
  api.vkGetPhysicalDeviceCooperativeMatrixPropertiesNV =
      reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV>(
          get(handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV"));
#undef ASSAY_LOOK_UP
  return std::shared_ptr<const Instance>(std::make_shared<const Instance>(api, handle));
}

Result<std::vector<VkPhysicalDevice>> Instance::list_devices() const {
  uint32_t count = 0;
  VkResult status = api_.vkEnumeratePhysicalDevices(handle_, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  if (status == VK_SUCCESS) status = api_.vkEnumeratePhysicalDevices(handle_, &count, all.data());
  if (status == VK_ERROR_INITIALIZATION_FAILED || (status == VK_SUCCESS && count == 0))
    return error("the Vulkan loader finds no driver", kHint);
  if (status != VK_SUCCESS) return failure("vkEnumeratePhysicalDevices", status);
  std::vector<VkPhysicalDevice> out;
  for (VkPhysicalDevice d : all)
    if (can_compute(api_, d)) out.push_back(d);
  return out;
}

Diags load_device_functions(Api& api, VkDevice device) {
#define ASSAY_LOOK_UP(name)                                                        \
  api.name = reinterpret_cast<PFN_##name>(api.vkGetDeviceProcAddr(device, #name)); \
  if (api.name == nullptr) return {lacks(#name)};
  ASSAY_VULKAN_DEVICE(ASSAY_LOOK_UP)
#undef ASSAY_LOOK_UP
  return {};
}

std::string name_of(VkResult status) {
  const std::string name = vk::to_string(static_cast<vk::Result>(status));
  if (name.starts_with("invalid")) return fmt::format("Vulkan status {}", static_cast<int>(status));
  std::string out = "VK";  // ErrorDeviceLost: VK_ERROR_DEVICE_LOST
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') out += '_';
    out += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return out;
}

Diag failure(const std::string& call, VkResult status) {
  const char* hint = "";
  switch (status) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
      hint = "a smaller model, fewer programs at once, or a device that nothing else uses";
      break;
    case VK_ERROR_DEVICE_LOST:
      hint =
          "the device was lost: what was measured so far is kept; try again when `assay devices` "
          "lists it";
      break;
    default:
      break;
  }
  return error(fmt::format("{}: {}", call, name_of(status)), hint);
}

}  // namespace assay::runtime::vulkan
