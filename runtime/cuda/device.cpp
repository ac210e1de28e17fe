#include "runtime/cuda/device.h"

#include <fmt/format.h>

#include <array>

#include "codegen/dialect.h"
#include "runtime/cuda/module.h"
#include "runtime/cuda/session.h"
#include "runtime/source.h"

namespace assay::runtime::cuda {
namespace {

constexpr const char* kDialect = "cuda";
constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING: independent of the default stream

int capability_of(const Api& api, int device) {
  return 10 * attribute_of(api, device, kMajor) + attribute_of(api, device, kMinor);
}

// Kernels that need more than the default opt in (CudaModule::load).
int group_bytes_of(const Api& api, int device) {
  return std::max(attribute_of(api, device, kGroupMemory),
                  attribute_of(api, device, kGroupMemoryOptIn));
}

// All, where the driver launches groups that run at once.
int scheduled_units_of(const Api& api, int device) {
  if (api.launch_together == nullptr || api.count_fitting == nullptr) return 0;
  return attribute_of(api, device, kCooperative) != 0 ? attribute_of(api, device, kUnits) : 0;
}

DeviceInfo describe(const Api& api, int device, int number) {
  DeviceInfo d;
  d.id = fmt::format("cuda:{}", number);
  d.api = kDialect;
  std::array<char, 256> name{};
  if (api.get_name(name.data(), static_cast<int>(name.size()) - 1, device) == kSuccess)
    d.name = name.data();
  size_t bytes = 0;
  if (api.get_memory(&bytes, device) == kSuccess) d.memory_bytes = static_cast<int64_t>(bytes);
  d.units = 1;  // the device schedules groups itself
  d.scheduled_units = scheduled_units_of(api, device);
  d.threads = d.phased = d.merges = true;
  d.widths = {attribute_of(api, device, kWaveLanes)};
  d.clock_hz = 1e3 * attribute_of(api, device, kClock);
  int version = 0;
  api.driver_version(&version);
  const int capability = capability_of(api, device);
  d.facts = {{"class", "gpu"},
             {"driver", fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10)},
             {"capability", fmt::format("{}.{}", capability / 10, capability % 10)}};
  static constexpr std::pair<const char*, Attribute> kNumbers[] = {
      {"compute_units", kUnits},          {"wave_lanes", kWaveLanes},
      {"group_threads", kGroupThreads},   {"unit_memory", kUnitMemory},
      {"unit_threads", kUnitThreads},     {"unit_registers", kUnitRegisters},
      {"last_cache", kLastCache},         {"clock_khz", kClock},
      {"memory_clock_khz", kMemoryClock}, {"constant_memory", kConstantMemory},
      {"image_width", kImageWidth},       {"image_height", kImageHeight}};
  for (const auto& [fact, attribute] : kNumbers)
    d.facts.emplace_back(fact, std::to_string(attribute_of(api, device, attribute)));
  d.facts.emplace_back("group_memory", std::to_string(group_bytes_of(api, device)));
  d.facts.emplace_back("images", "yes");
  d.facts.emplace_back("image_outside", "CU_TR_ADDRESS_MODE_BORDER");
  d.facts.emplace_back("types", capability >= 80   ? "f16 f16x2 bf16 bf16x2 i8 dot"
                                : capability >= 61 ? "f16 f16x2 i8 dot"
                                                   : "i8");
  d.facts.emplace_back("stores", capability >= 80   ? "f16 f16x2 bf16 bf16x2 i8 u8"
                                 : capability >= 61 ? "f16 f16x2 bf16 f8e4m3 f8e5m2 i8 u8"
                                                    : "f16 bf16 f8e4m3 f8e5m2 i8 u8");
  const auto compiler = Compiler::load();
  d.facts.emplace_back("compiler",
                       compiler ? "NVRTC " + (*compiler)->version() : compiler.diags()[0].message);
  return d;
}

// The driver's device handles. Errors: the driver does not list them.
Result<std::vector<int>> list_devices(const Api& api) {
  int count = 0;
  if (const Status s = api.count_devices(&count)) return failure(api, "cuDeviceGetCount", s);
  std::vector<int> out;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    if (const Status s = api.get_device(&device, i)) return failure(api, "cuDeviceGet", s);
    out.push_back(device);
  }
  return out;
}

Result<Session> start(const Api& api, int device, const std::string& id) {
  Session s{api, device, id, capability_of(api, device)};
  std::array<char, 32> bus{};
  if (api.get_bus(bus.data(), static_cast<int>(bus.size()) - 1, device) == kSuccess)
    s.bus = bus.data();
  s.limits.scheduled_units = scheduled_units_of(api, device);
  s.limits.group_threads = attribute_of(api, device, kGroupThreads);
  s.limits.group_bytes = group_bytes_of(api, device);
  s.limits.constant_bytes = attribute_of(api, device, kConstantMemory);
  s.limits.unit_threads = attribute_of(api, device, kUnitThreads);
  s.limits.unit_groups = attribute_of(api, device, kUnitGroups);
  s.limits.unit_registers = attribute_of(api, device, kUnitRegisters);
  s.limits.unit_bytes = attribute_of(api, device, kUnitMemory);
  s.limits.reserved_bytes = attribute_of(api, device, kReservedMemory);
  Context context = nullptr;
  if (const Status status = api.retain_context(&context, device))
    return failure(api, "cuDevicePrimaryCtxRetain", status);
  s.context = {context, [&api, device](Context) { api.release_context(device); }};
  if (const Status status = s.enter()) return failure(api, "cuCtxSetCurrent", status);
  Stream stream = nullptr;
  if (const Status status = api.create_stream(&stream, kNonBlocking))
    return failure(api, "cuStreamCreate", status);
  s.stream = {stream, api.destroy_stream};
  return s;
}

// Builds kernels made of several as `options` says, when they are first asked for.
ModuleOptions module_options(const codegen::Dialect& dialect, const LoadOptions& options,
                             int architecture, int threads) {
  LoadOptions later = options;
  later.progress = {};
  later.cancel = nullptr;
  const auto with_cache = [=](std::span<const ir::Kernel> kernels,
                              const auto& build) -> Result<CombinedKernel> {
    Diags warnings;
    auto cache = KernelCache::open(later.cache_dir, warnings);
    if (!cache) return cache.diags();
    return build(BuildRequest{kernels, dialect, later, architecture, threads}, *cache);
  };
  return {threads, options.guarded,
          [=](std::span<const ir::Kernel> kernels, int resident) {
            return with_cache(kernels, [&](const BuildRequest& request, KernelCache& cache) {
              return build_schedule(request, resident, cache);
            });
          },
          [=](std::span<const ir::Kernel> kernels) { return with_cache(kernels, build_merged); }};
}

class CudaDevice final : public Device {  // invariant: session_ is open
 public:
  CudaDevice(DeviceInfo info, Session session, codegen::Dialect dialect)
      : info_(std::move(info)),
        session_(std::make_shared<Session>(std::move(session))),
        dialect_(std::move(dialect)) {}

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Module>> load(std::span<const ir::Kernel> kernels,
                                       const hwdesc::Target& target,
                                       const LoadOptions& options) override {
    if (const Diags other = check_dialect(info_.id, kDialect, target); has_error(other))
      return other;
    const auto dialect = codegen::in_forms(dialect_, target.api.forms);
    if (!dialect) return dialect.diags();
    if (const Diags absent = check_instructions(info_, kernels); has_error(absent)) return absent;
    if (const Diags lacking = check_types(info_, kernels); has_error(lacking)) return lacking;
    if (const Diags many = check_constants(*session_, kernels); has_error(many)) return many;
    const int threads = hwdesc::threads_of(target);
    if (const Diags many = check_waves(info_.id, kernels, threads, session_->limits.group_threads);
        has_error(many))
      return many;
    const auto compiler = Compiler::load();
    if (!compiler) return compiler.diags();
    const auto architecture = (*compiler)->architecture_for(session_->capability);
    if (!architecture) return architecture.diags();
    Diags warnings;
    auto cache = KernelCache::open(options.cache_dir, warnings);
    if (!cache) return cache.diags();
    const auto built = build({kernels, *dialect, options, *architecture, threads}, *cache);
    if (!built) return built.diags();
    return CudaModule::make(session_, kernels, *built,
                            module_options(*dialect, options, *architecture, threads),
                            std::move(warnings));
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<Session> session_;
  codegen::Dialect dialect_;
};

Found absent(const Diags& why) { return {{}, {{"cuda", why[0].message}}}; }

}  // namespace

Found find() {
  const auto api = load_api();
  if (!api) return absent(api.diags());
  const auto devices = list_devices(**api);
  if (!devices) return absent(devices.diags());
  if (devices->empty()) return {{}, {{"cuda", "its driver lists no device"}}};
  Found found;
  for (size_t i = 0; i < devices->size(); ++i)
    found.devices.push_back(describe(**api, (*devices)[i], static_cast<int>(i)));
  return found;
}

Result<std::unique_ptr<Device>> open(const std::string& id) {
  const auto api = load_api();
  if (!api) return api.diags();
  const auto devices = list_devices(**api);
  if (!devices) return devices.diags();
  auto dialect = codegen::parse_dialect(codegen::dialect_text(kDialect),
                                        fmt::format("dialects/{}.yaml", kDialect));
  if (!dialect) return dialect.diags();
  for (size_t i = 0; i < devices->size(); ++i) {
    DeviceInfo info = describe(**api, (*devices)[i], static_cast<int>(i));
    if (info.id != id) continue;
    auto session = start(**api, (*devices)[i], id);
    if (!session) return session.diags();
    return std::unique_ptr<Device>(std::make_unique<CudaDevice>(
        std::move(info), std::move(session).value(), std::move(dialect).value()));
  }
  return error(fmt::format("{} is no longer there", id), "`assay devices` lists the devices");
}

}  // namespace assay::runtime::cuda
