#include "runtime/vulkan/device.h"

#include <fmt/format.h>

#include "codegen/dialect.h"
#include "runtime/cpu/cpu_info.h"
#include "runtime/source.h"
#include "runtime/vulkan/build.h"
#include "runtime/vulkan/cooperative.h"
#include "runtime/vulkan/extensions.h"
#include "runtime/vulkan/module.h"
#include "runtime/vulkan/narrow_types.h"
#include "runtime/vulkan/spirv.h"

namespace assay::runtime::vulkan {
namespace {

constexpr const char* kApi = "vulkan";
constexpr const char* kDialect = "glsl";

const char* class_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated gpu";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "gpu";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual gpu";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    default:
      return "accelerator";
  }
}

std::string version_of(uint32_t v) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(v), VK_API_VERSION_MINOR(v),
                     VK_API_VERSION_PATCH(v));
}

int64_t largest_heap(const Api& api, VkPhysicalDevice device) {
  VkPhysicalDeviceMemoryProperties memory{};
  api.vkGetPhysicalDeviceMemoryProperties(device, &memory);
  VkDeviceSize most = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      most = std::max(most, memory.memoryHeaps[i].size);
  return static_cast<int64_t>(most);
}

DeviceInfo describe(const Api& api, VkPhysicalDevice device, size_t number) {
  VkPhysicalDeviceSubgroupProperties subgroup{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, nullptr, 0, 0, 0, VK_FALSE};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &subgroup, {}};
  api.vkGetPhysicalDeviceProperties2(device, &all);
  const VkPhysicalDeviceProperties& p = all.properties;
  DeviceInfo d;
  d.id = fmt::format("vulkan:{}", number);
  d.name = p.deviceName;
  d.api = kApi;
  d.dialect = kDialect;
  d.threads = d.phased = true;
  if (subgroup.subgroupSize > 1) d.widths = {static_cast<int>(subgroup.subgroupSize)};
  d.memory_bytes = largest_heap(api, device);
  d.facts = {{"class", class_of(p.deviceType)},
             {"version", version_of(p.apiVersion)},
             {"driver", std::to_string(p.driverVersion)},
             {"compiler", "glslang"},
             {"subgroup", std::to_string(subgroup.subgroupSize)},
             {"group_threads", std::to_string(p.limits.maxComputeWorkGroupInvocations)},
             {"group_memory", std::to_string(p.limits.maxComputeSharedMemorySize)},
             {"largest_buffer", std::to_string(p.limits.maxStorageBufferRange)},
             {"constant_memory", std::to_string(p.limits.maxUniformBufferRange)},
             {"images", "yes"},
             {"image_width", std::to_string(p.limits.maxImageDimension2D)},
             {"image_height", std::to_string(p.limits.maxImageDimension2D)}};
  if (has_robust_images(api, device))
    d.facts.emplace_back("image_outside", "robustImageAccess, without a sampler");
  VkPhysicalDeviceFeatures features{};
  api.vkGetPhysicalDeviceFeatures(device, &features);
  d.facts.emplace_back("f64", features.shaderFloat64 != VK_FALSE ? "yes" : "no");
  const NarrowTypes narrow = narrow_types_of(api, device);
  d.facts.emplace_back("types", narrow.words());
  d.facts.emplace_back("stores", narrow.stored_words());
  if (const std::string shapes = cooperative_shapes(api, device); !shapes.empty())
    d.facts.emplace_back("cooperative_matrix", shapes);
  // A device of type CPU is the host's processor. Vulkan does not report other devices' units.
  if (p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) {
    const cpu::CpuInfo info = cpu::read_cpu_info();
    d.units = static_cast<int>(info.usable.size());
    d.facts.emplace_back("isa", info.isa);
  }
  return d;
}

class VulkanDevice final : public Device {  // invariant: session_ is open
 public:
  VulkanDevice(DeviceInfo info, std::shared_ptr<Session> session, codegen::Dialect dialect)
      : info_(std::move(info)), session_(std::move(session)), dialect_(std::move(dialect)) {}

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Module>> load(std::span<const ir::Kernel> kernels,
                                       const hwdesc::Target& target,
                                       const LoadOptions& options) override {
    if (const Diags other = check_dialect(info_.id, kDialect, target); has_error(other))
      return other;
    const auto dialect = codegen::in_forms(dialect_, target.api.forms);
    if (!dialect) return dialect.diags();
    if (const Diags absent = check_instructions(info_, kernels); has_error(absent)) return absent;
    const int threads = hwdesc::threads_of(target);
    if (threads > session_->limits().group_threads)
      return error(fmt::format("{} allows {} threads in a group, the target has {} lanes", info_.id,
                               session_->limits().group_threads, threads));
    if (const Diags many =
            check_waves(info_.id, kernels, threads, session_->limits().group_threads);
        has_error(many))
      return many;
    if (const Diags faults = check_kernels(*session_, kernels); has_error(faults)) return faults;
    Diags warnings;
    auto cache = KernelCache::open(options.cache_dir, warnings);
    if (!cache) return cache.diags();
    auto built = build({kernels, *dialect, *session_, options, threads}, *cache);
    if (!built) return built.diags();
    return VulkanModule::make(session_, kernels, std::move(built).value(), options.guarded,
                              std::move(warnings));
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<Session> session_;
  codegen::Dialect dialect_;
};

struct Listed {
  std::shared_ptr<const Instance> instance;
  std::vector<VkPhysicalDevice> devices;
};

Result<Listed> list() {
  auto instance = Instance::make();
  if (!instance) return instance.diags();
  auto devices = (*instance)->list_devices();
  if (!devices) return devices.diags();
  return Listed{std::move(instance).value(), std::move(devices).value()};
}

}  // namespace

Found find() {
  if (const std::string why = why_no_glsl_compiler(); !why.empty()) return {{}, {{kApi, why}}};
  const auto listed = list();
  if (!listed) return {{}, {{kApi, listed.diags()[0].message}}};
  if (listed->devices.empty())
    return {{}, {{kApi, "its drivers list no device of Vulkan 1.1 with compute and timestamps"}}};
  Found found;
  for (size_t i = 0; i < listed->devices.size(); ++i)
    found.devices.push_back(describe(listed->instance->api(), listed->devices[i], i));
  return found;
}

Result<std::unique_ptr<Device>> open(const std::string& id) {
  const auto listed = list();
  if (!listed) return listed.diags();
  auto dialect = codegen::parse_dialect(codegen::dialect_text(kDialect),
                                        fmt::format("dialects/{}.yaml", kDialect));
  if (!dialect) return dialect.diags();
  for (size_t i = 0; i < listed->devices.size(); ++i) {
    DeviceInfo info = describe(listed->instance->api(), listed->devices[i], i);
    if (info.id != id) continue;
    auto session = Session::open(listed->instance, listed->devices[i], id);
    if (!session) return session.diags();
    return std::unique_ptr<Device>(std::make_unique<VulkanDevice>(
        std::move(info), std::move(session).value(), std::move(dialect).value()));
  }
  return error(fmt::format("{} is no longer there", id), "`assay devices` lists the devices");
}

}  // namespace assay::runtime::vulkan
