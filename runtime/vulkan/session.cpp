#include "runtime/vulkan/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/vulkan/cooperative.h"
#include "runtime/vulkan/extensions.h"
#include "runtime/vulkan/narrow_types.h"
#include "support/hash.h"

namespace assay::runtime::vulkan {
namespace {

struct Family {
  uint32_t number = 0, timestamp_bits = 0;
};

// Prefers queues without graphics, which do not compete with drawing the screen.
Family choose_family(const Api& api, VkPhysicalDevice device) {
  uint32_t count = 0;
  api.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> all(count);
  api.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, all.data());
  Family best;
  for (const bool alone : {false, true})
    for (uint32_t i = 0; i < count; ++i) {
      const VkQueueFamilyProperties& f = all[i];
      const bool fits = (f.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && f.timestampValidBits > 0;
      if (fits && (!alone || (f.queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0))
        best = {i, f.timestampValidBits};
    }
  return best;
}

}  // namespace

void wait_for_writes(const Api& api, VkCommandBuffer commands, VkPipelineStageFlags before,
                     VkAccessFlags written, VkPipelineStageFlags after, VkAccessFlags used) {
  auto barrier = made<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = written;
  barrier.dstAccessMask = used;
  api.vkCmdPipelineBarrier(commands, before, after, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

Result<std::shared_ptr<Session>> Session::open(std::shared_ptr<const Instance> instance,
                                               VkPhysicalDevice physical, std::string id) {
  std::shared_ptr<Session> s(new Session);
  s->instance_ = std::move(instance);
  s->api_ = s->instance_->api();
  s->physical_ = physical;
  s->id_ = std::move(id);
  const Diags faults = s->start();
  if (has_error(faults)) return faults;
  return s;
}

Session::~Session() {
  if (device_ == VK_NULL_HANDLE) return;
  if (api_.vkDeviceWaitIdle != nullptr) api_.vkDeviceWaitIdle(device_);
  fence_ = {};
  pool_ = {};
  if (api_.vkDestroyDevice != nullptr) api_.vkDestroyDevice(device_, nullptr);
}

Diags Session::start() {
  const Family family = choose_family(api_, physical_);
  read_limits(family.timestamp_bits);
  const float priority = 1;
  auto queue = made<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = family.number;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  const NarrowTypes narrow = narrow_types_of(api_, physical_);
  const NarrowFeatures narrow_features(narrow);
  std::vector<const char*> extensions = narrow.extensions;
  auto robust = made<VkPhysicalDeviceImageRobustnessFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_ROBUSTNESS_FEATURES_EXT);
  robust.robustImageAccess = VK_TRUE;
  robust.pNext = const_cast<void*>(narrow_features.chain());
  auto cooperative = made<VkPhysicalDeviceCooperativeMatrixFeaturesNV>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV);
  cooperative.cooperativeMatrix = VK_TRUE;
  const bool is_robust = has_robust_images(api_, physical_);
  if (is_robust) extensions.push_back(kRobustImages);
  limits_.has_f16 = narrow.f16;
  limits_.has_i8 = narrow.i8;
  limits_.has_8_bits = narrow.storage8;
  limits_.has_16_bits = narrow.storage16;
  VkPhysicalDeviceFeatures features{};
  features.shaderFloat64 = limits_.has_f64;
  features.shaderInt64 = limits_.has_i64;
  features.shaderInt16 = narrow.int16;
  auto wanted = made<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  wanted.queueCreateInfoCount = 1;
  wanted.pQueueCreateInfos = &queue;
  wanted.pEnabledFeatures = &features;
  wanted.pNext = is_robust ? &robust : narrow_features.chain();
  if (!cooperative_shapes(api_, physical_).empty()) {
    extensions.push_back(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
    cooperative.pNext = const_cast<void*>(wanted.pNext);
    wanted.pNext = &cooperative;
  }
  wanted.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  wanted.ppEnabledExtensionNames = extensions.data();
  if (const VkResult s = api_.vkCreateDevice(physical_, &wanted, nullptr, &device_))
    return {failure("vkCreateDevice", s)};
  const Diags missing = load_device_functions(api_, device_);
  return has_error(missing) ? missing : make_queue(family.number);
}

Diags Session::make_queue(uint32_t family) {
  api_.vkGetDeviceQueue(device_, family, 0, &queue_);
  auto pool = made<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.queueFamilyIndex = family;
  VkCommandPool pool_handle = VK_NULL_HANDLE;
  if (const VkResult s = api_.vkCreateCommandPool(device_, &pool, nullptr, &pool_handle))
    return {failure("vkCreateCommandPool", s)};
  pool_ = {device_, pool_handle, api_.vkDestroyCommandPool};
  auto buffer = made<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  buffer.commandPool = pool_.get();
  buffer.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  buffer.commandBufferCount = 1;
  if (const VkResult s = api_.vkAllocateCommandBuffers(device_, &buffer, &commands_))
    return {failure("vkAllocateCommandBuffers", s)};
  const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
  VkFence fence_handle = VK_NULL_HANDLE;
  if (const VkResult s = api_.vkCreateFence(device_, &fence, nullptr, &fence_handle))
    return {failure("vkCreateFence", s)};
  fence_ = {device_, fence_handle, api_.vkDestroyFence};
  return {};
}

void Session::read_limits(uint32_t timestamp_bits) {
  VkPhysicalDeviceMaintenance3Properties sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, nullptr, 0, 0};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &sizes, {}};
  api_.vkGetPhysicalDeviceProperties2(physical_, &all);
  const VkPhysicalDeviceLimits& of = all.properties.limits;
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  limits_.buffer_bytes =
      static_cast<int64_t>(std::min<uint64_t>(sizes.maxMemoryAllocationSize, kMost));
  limits_.range_bytes = of.maxStorageBufferRange;
  limits_.alignment =
      static_cast<int64_t>(std::max<VkDeviceSize>(1, of.minStorageBufferOffsetAlignment));
  limits_.constant_bytes = of.maxUniformBufferRange;
  limits_.constant_alignment =
      static_cast<int64_t>(std::max<VkDeviceSize>(16, of.minUniformBufferOffsetAlignment));
  limits_.constants =
      std::min(of.maxPerStageDescriptorUniformBuffers, of.maxDescriptorSetUniformBuffers);
  limits_.images =
      std::min(of.maxPerStageDescriptorSampledImages, of.maxDescriptorSetSampledImages);
  limits_.group_threads =
      std::min(of.maxComputeWorkGroupInvocations, of.maxComputeWorkGroupSize[0]);
  limits_.group_bytes = of.maxComputeSharedMemorySize;
  limits_.groups = of.maxComputeWorkGroupCount[0];
  limits_.arguments =
      static_cast<int64_t>(std::min({of.maxPerStageDescriptorStorageBuffers,
                                     of.maxDescriptorSetStorageBuffers, of.maxPerStageResources})) -
      1;
  limits_.tick_seconds = static_cast<double>(of.timestampPeriod) * 1e-9;
  limits_.tick_mask = timestamp_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << timestamp_bits) - 1;
  VkPhysicalDeviceFeatures features{};
  api_.vkGetPhysicalDeviceFeatures(physical_, &features);
  limits_.has_f64 = features.shaderFloat64 != VK_FALSE;
  limits_.has_i64 = features.shaderInt64 != VK_FALSE;
  api_.vkGetPhysicalDeviceMemoryProperties(physical_, &memory_);
  // The host reaches a discrete card's memory over the bus only, even if it is mapped.
  limits_.shares_memory = all.properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  const VkPhysicalDeviceProperties& p = all.properties;
  std::string identity = fmt::format("{} {} {} {} {} ", p.deviceName, p.vendorID, p.deviceID,
                                     p.driverVersion, p.apiVersion);
  for (const uint8_t byte : p.pipelineCacheUUID) identity += fmt::format("{:02x}", byte);
  fingerprint_ = hash_hex(identity);
}

// Host memory is coherent, so nothing is flushed explicitly. Cached if possible, since results are
// read back.
int Session::memory_type(uint32_t allowed, Place place) const {
  constexpr VkMemoryPropertyFlags kHost =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kNear = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  const std::vector<VkMemoryPropertyFlags> wishes =
      place == Place::device ? std::vector<VkMemoryPropertyFlags>{kNear, 0}
      : limits_.shares_memory
          ? std::vector<VkMemoryPropertyFlags>{kHost | kNear | kCached, kHost | kNear,
                                               kHost | kCached, kHost}
          : std::vector<VkMemoryPropertyFlags>{kHost | kCached, kHost};
  for (const VkMemoryPropertyFlags wish : wishes)
    for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i)
      if ((allowed >> i & 1) != 0 && (memory_.memoryTypes[i].propertyFlags & wish) == wish)
        return static_cast<int>(i);
  return -1;
}

Result<VkCommandBuffer> Session::begin() const {
  if (const VkResult s = api_.vkResetCommandPool(device_, pool_.get(), 0))
    return failure("vkResetCommandPool", s);
  const VkCommandBufferBeginInfo how{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0,
                                     nullptr};
  if (const VkResult s = api_.vkBeginCommandBuffer(commands_, &how))
    return failure("vkBeginCommandBuffer", s);
  wait_for_writes(api_, commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                  VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                  VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
  return VkCommandBuffer{commands_};
}

Diags Session::end(VkCommandBuffer commands) const {
  wait_for_writes(api_, commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                  VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT);
  if (const VkResult s = api_.vkEndCommandBuffer(commands))
    return {failure("vkEndCommandBuffer", s)};
  return {};
}

Diags Session::submit(VkCommandBuffer commands) const {
  const VkFence fence = fence_.get();
  if (const VkResult s = api_.vkResetFences(device_, 1, &fence))
    return {failure("vkResetFences", s)};
  auto work = made<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  work.commandBufferCount = 1;
  work.pCommandBuffers = &commands;
  if (const VkResult s = api_.vkQueueSubmit(queue_, 1, &work, fence))
    return {failure("vkQueueSubmit", s)};
  if (const VkResult s = api_.vkWaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX))
    return {failure("vkWaitForFences", s)};
  return {};
}

Diags Session::run(const std::function<void(VkCommandBuffer)>& record) const {
  const Result<VkCommandBuffer> commands = begin();
  if (!commands) return commands.diags();
  record(*commands);
  const Diags faults = end(*commands);
  return has_error(faults) ? faults : submit(*commands);
}

}  // namespace assay::runtime::vulkan
