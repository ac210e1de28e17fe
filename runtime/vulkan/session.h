// One device in use: its queue and command buffer, shared by the modules that run on it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/device.h"
#include "runtime/vulkan/api.h"

namespace assay::runtime::vulkan {

struct Limits {
  int64_t buffer_bytes = 0;    // of one allocation
  int64_t range_bytes = 0;     // of the buffer range that one argument binds
  int64_t alignment = 1;       // of such a range's begin
  int64_t constant_bytes = 0;  // of the uniform buffer range that one argument binds
  int64_t constant_alignment = 1;
  int64_t constants = 0, images = 0;  // of one kernel
  int64_t group_threads = 0;
  int64_t group_bytes = 0;     // shared memory of one group
  int64_t groups = 0;          // of one dispatch
  int64_t arguments = 0;       // buffers of one kernel
  double tick_seconds = 0;     // of the timestamps' clock
  uint64_t tick_mask = 0;      // valid bits of timestamps
  bool shares_memory = false;  // with the host: buffers are written and read in place
  bool has_f64 = false, has_i64 = false, has_f16 = false, has_i8 = false;
  bool has_16_bits = false, has_8_bits = false;  // elements of buffers
};

enum class Place { device, host };  // of memory: local to the device, or accessible to the host

class Session {  // invariant: device_ works, or was lost; every handle below is of it
 public:
  static Result<std::shared_ptr<Session>> open(std::shared_ptr<const Instance> instance,
                                               VkPhysicalDevice physical, std::string id);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Api& api() const { return api_; }
  VkDevice device() const { return device_; }
  VkPhysicalDevice physical() const { return physical_; }
  const std::string& id() const { return id_; }
  const std::string& fingerprint() const { return fingerprint_; }
  const Limits& limits() const { return limits_; }

  // The best memory type in `allowed`; -1: there is none.
  int memory_type(uint32_t allowed, Place place) const;

  // Begins the session's command buffer, with a barrier against all earlier submissions. Its
  // commands remain until the next call.
  Result<VkCommandBuffer> begin() const;
  // end() makes results visible to the host and ends the commands. submit() runs them, any number
  // of times, and waits.
  Diags end(VkCommandBuffer commands) const;
  Diags submit(VkCommandBuffer commands) const;
  // All three around `record`.
  Diags run(const std::function<void(VkCommandBuffer)>& record) const;

 private:
  Session() = default;
  Diags start();
  Diags make_queue(uint32_t family);
  void read_limits(uint32_t timestamp_bits);

  std::shared_ptr<const Instance> instance_;
  Api api_;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  std::string id_, fingerprint_;  // of device and driver, on which pipelines depend
  Limits limits_;
  VkPhysicalDeviceMemoryProperties memory_{};
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  Owned<VkCommandPool> pool_;
  Owned<VkFence> fence_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

// A barrier for everything written so far.
void wait_for_writes(const Api& api, VkCommandBuffer commands, VkPipelineStageFlags before,
                     VkAccessFlags written, VkPipelineStageFlags after, VkAccessFlags used);

}  // namespace assay::runtime::vulkan
