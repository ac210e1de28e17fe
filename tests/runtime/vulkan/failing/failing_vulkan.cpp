// Vulkan that fails on demand. Calls are forwarded to the real loader, except:
//   FAIL_BUILD=1       pipelines fail;
//   FAIL_MEMORY=BYTES  allocations from this size on fail;
//   FAIL_AFTER=N       the device is lost after N submissions;
//   FAIL_RULES=1       buffers have no usage flags, which validation layers report;
//   COMMANDS=FILE      d for each recorded dispatch, b for each barrier of all;
//   DISCRETE=1         the device is a discrete card with memory of its own
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace {

long number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? -1 : std::atol(text);
}

PFN_vkGetInstanceProcAddr real_lookup() {
  static void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
}

PFN_vkGetDeviceProcAddr device_lookup = nullptr;
VkDevice device = VK_NULL_HANDLE;
VkInstance instance = VK_NULL_HANDLE;

template <class F>
F of_device(F, const char* name) {
  return reinterpret_cast<F>(device_lookup(device, name));
}
template <class F>
F of_instance(F, const char* name) {
  return reinterpret_cast<F>(real_lookup()(instance, name));
}

VkResult VKAPI_CALL create_pipelines(VkDevice d, VkPipelineCache cache, uint32_t count,
                                     const VkComputePipelineCreateInfo* infos,
                                     const VkAllocationCallbacks* a, VkPipeline* out) {
  if (number("FAIL_BUILD") >= 0) return VK_ERROR_INVALID_SHADER_NV;
  return of_device(&create_pipelines, "vkCreateComputePipelines")(d, cache, count, infos, a, out);
}

VkResult VKAPI_CALL allocate(VkDevice d, const VkMemoryAllocateInfo* info,
                             const VkAllocationCallbacks* a, VkDeviceMemory* out) {
  const long most = number("FAIL_MEMORY");
  if (most >= 0 && info->allocationSize >= static_cast<VkDeviceSize>(most))
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  VkMemoryAllocateInfo changed = *info;
  if (number("DISCRETE") >= 0) changed.memoryTypeIndex = 0;
  return of_device(&allocate, "vkAllocateMemory")(d, &changed, a, out);
}

VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* work, VkFence fence) {
  static long submissions = 0;
  const long after = number("FAIL_AFTER");
  if (after >= 0 && ++submissions > after) return VK_ERROR_DEVICE_LOST;
  return of_device(&submit, "vkQueueSubmit")(queue, count, work, fence);
}

VkResult VKAPI_CALL create_buffer(VkDevice d, const VkBufferCreateInfo* info,
                                  const VkAllocationCallbacks* a, VkBuffer* out) {
  VkBufferCreateInfo changed = *info;
  if (number("FAIL_RULES") >= 0) changed.usage = 0;
  return of_device(&create_buffer, "vkCreateBuffer")(d, &changed, a, out);
}

void note(const char* letter) {
  const char* file = std::getenv("COMMANDS");
  if (file != nullptr) std::ofstream(file, std::ios::app) << letter;
}

void VKAPI_CALL dispatch(VkCommandBuffer c, uint32_t x, uint32_t y, uint32_t z) {
  note("d");
  of_device(&dispatch, "vkCmdDispatch")(c, x, y, z);
}

void VKAPI_CALL barrier(VkCommandBuffer c, VkPipelineStageFlags from, VkPipelineStageFlags to,
                        VkDependencyFlags flags, uint32_t count, const VkMemoryBarrier* memory,
                        uint32_t buffers, const VkBufferMemoryBarrier* buffer, uint32_t images,
                        const VkImageMemoryBarrier* image) {
  if (from == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT && to == from) note("b");
  of_device(&barrier, "vkCmdPipelineBarrier")(c, from, to, flags, count, memory, buffers, buffer,
                                              images, image);
}

// Device-local memory that the host can not map, and host memory.
void VKAPI_CALL memory_properties(VkPhysicalDevice p, VkPhysicalDeviceMemoryProperties* out) {
  of_instance(&memory_properties, "vkGetPhysicalDeviceMemoryProperties")(p, out);
  if (number("DISCRETE") < 0) return;
  out->memoryTypeCount = 2;
  out->memoryTypes[1] = out->memoryTypes[0];
  out->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  out->memoryTypes[1].propertyFlags =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
}

void VKAPI_CALL requirements(VkDevice d, VkBuffer b, VkMemoryRequirements* out) {
  of_device(&requirements, "vkGetBufferMemoryRequirements")(d, b, out);
  if (number("DISCRETE") >= 0) out->memoryTypeBits = 3;
}

void VKAPI_CALL image_requirements(VkDevice d, VkImage i, VkMemoryRequirements* out) {
  of_device(&image_requirements, "vkGetImageMemoryRequirements")(d, i, out);
  if (number("DISCRETE") >= 0) out->memoryTypeBits = 3;
}

void VKAPI_CALL properties2(VkPhysicalDevice p, VkPhysicalDeviceProperties2* out) {
  of_instance(&properties2, "vkGetPhysicalDeviceProperties2")(p, out);
  if (number("DISCRETE") >= 0) out->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

VkResult VKAPI_CALL create_device(VkPhysicalDevice p, const VkDeviceCreateInfo* info,
                                  const VkAllocationCallbacks* a, VkDevice* out) {
  const VkResult status = of_instance(&create_device, "vkCreateDevice")(p, info, a, out);
  device = *out;
  return status;
}

VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                    const VkAllocationCallbacks* a, VkInstance* out) {
  const VkResult status = reinterpret_cast<PFN_vkCreateInstance>(
      real_lookup()(nullptr, "vkCreateInstance"))(info, a, out);
  instance = *out;
  return status;
}

struct Row {
  const char* name;
  PFN_vkVoidFunction ours;
};

template <class F>
PFN_vkVoidFunction plain(F f) {
  return reinterpret_cast<PFN_vkVoidFunction>(f);
}

PFN_vkVoidFunction ours(const char* name);

PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice d, const char* name) {
  if (PFN_vkVoidFunction f = ours(name)) return f;
  return device_lookup(d, name);
}

PFN_vkVoidFunction ours(const char* name) {
  const Row rows[] = {{"vkCreateInstance", plain(&create_instance)},
                      {"vkCreateDevice", plain(&create_device)},
                      {"vkGetPhysicalDeviceProperties2", plain(&properties2)},
                      {"vkGetPhysicalDeviceMemoryProperties", plain(&memory_properties)},
                      {"vkGetBufferMemoryRequirements", plain(&requirements)},
                      {"vkGetImageMemoryRequirements", plain(&image_requirements)},
                      {"vkCreateComputePipelines", plain(&create_pipelines)},
                      {"vkAllocateMemory", plain(&allocate)},
                      {"vkCreateBuffer", plain(&create_buffer)},
                      {"vkCmdDispatch", plain(&dispatch)},
                      {"vkCmdPipelineBarrier", plain(&barrier)},
                      {"vkQueueSubmit", plain(&submit)}};
  for (const Row& r : rows)
    if (std::strcmp(r.name, name) == 0) return r.ours;
  return nullptr;
}

}  // namespace

extern "C" PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance i, const char* name) {
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) {
    device_lookup = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real_lookup()(i, name));
    return plain(&get_device_function);
  }
  if (PFN_vkVoidFunction f = ours(name)) return f;
  return real_lookup()(i, name);
}
