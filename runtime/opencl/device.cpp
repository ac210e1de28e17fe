#include "runtime/opencl/device.h"

#include <fmt/format.h>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "runtime/cpu/cpu_info.h"
#include "runtime/opencl/build.h"
#include "runtime/opencl/clock.h"
#include "runtime/opencl/module.h"
#include "runtime/opencl/session.h"
#include "runtime/source.h"
#include "support/hash.h"

namespace assay::runtime::opencl {
namespace {

constexpr const char* kDialect = "opencl";

std::string class_of(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return "gpu";
  if ((type & CL_DEVICE_TYPE_CPU) != 0) return "cpu";
  return "accelerator";
}

// Lanes of a wave: the preferred work-group multiple, which drivers report per kernel. 0: unknown.
int wave_of(const Api& api, const Place& at) {
  cl_int status = CL_SUCCESS;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(at.platform), 0};
  const Owned<cl_context> context{
      api.clCreateContext(properties, 1, &at.device, nullptr, nullptr, &status),
      api.clReleaseContext};
  if (status != CL_SUCCESS) return 0;
  const char* text = "__kernel void add(__global float* a) { a[get_global_id(0)] += 1.0f; }";
  const Owned<cl_program> program{
      api.clCreateProgramWithSource(context.get(), 1, &text, nullptr, &status),
      api.clReleaseProgram};
  if (status != CL_SUCCESS ||
      api.clBuildProgram(program.get(), 1, &at.device, "", nullptr, nullptr) != CL_SUCCESS)
    return 0;
  const Owned<cl_kernel> kernel{api.clCreateKernel(program.get(), "add", &status),
                                api.clReleaseKernel};
  if (status != CL_SUCCESS) return 0;
  size_t lanes = 0;
  status = api.clGetKernelWorkGroupInfo(kernel.get(), at.device,
                                        CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof lanes,
                                        &lanes, nullptr);
  return status == CL_SUCCESS ? static_cast<int>(lanes) : 0;
}

// Of AMD's devices, whose name is "gfx1100:sramecc-": "gfx1100", and of four digits "gfx11". Else
// "".
std::string architecture_in(const std::string& name) {
  if (!name.starts_with("gfx")) return "";
  const std::string own = name.substr(0, name.find(':'));
  return own.size() > 6 ? own + " " + own.substr(0, own.size() - 2) : own;
}

DeviceInfo describe(const Api& api, const Place& at, size_t number) {
  DeviceInfo d;
  d.id = fmt::format("opencl:{}", number);
  d.name = text_of(api, at.device, CL_DEVICE_NAME);
  d.api = kDialect;
  d.units = static_cast<int>(number_of<cl_uint>(api, at.device, CL_DEVICE_MAX_COMPUTE_UNITS));
  d.memory_bytes =
      static_cast<int64_t>(number_of<cl_ulong>(api, at.device, CL_DEVICE_GLOBAL_MEM_SIZE));
  const auto local = number_of<cl_device_local_mem_type>(api, at.device, CL_DEVICE_LOCAL_MEM_TYPE);
  d.facts = {
      {"class", class_of(number_of<cl_device_type>(api, at.device, CL_DEVICE_TYPE))},
      {"platform", text_of(api, at.platform, CL_PLATFORM_NAME)},
      {"version", text_of(api, at.device, CL_DEVICE_VERSION)},
      {"driver", text_of(api, at.device, CL_DRIVER_VERSION)},
      {"group_threads",
       std::to_string(number_of<size_t>(api, at.device, CL_DEVICE_MAX_WORK_GROUP_SIZE))},
      {"group_memory",
       std::to_string(number_of<cl_ulong>(api, at.device, CL_DEVICE_LOCAL_MEM_SIZE))},
      {"group_memory_type", local == CL_LOCAL ? "on chip" : "global"},
      {"largest_buffer",
       std::to_string(number_of<cl_ulong>(api, at.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE))},
      {"images", number_of<cl_bool>(api, at.device, CL_DEVICE_IMAGE_SUPPORT) != 0 ? "yes" : "no"},
      {"constant_memory",
       std::to_string(number_of<cl_ulong>(api, at.device, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE))},
      {"image_width",
       std::to_string(number_of<size_t>(api, at.device, CL_DEVICE_IMAGE2D_MAX_WIDTH))},
      {"image_height",
       std::to_string(number_of<size_t>(api, at.device, CL_DEVICE_IMAGE2D_MAX_HEIGHT))},
      {"image_outside", "CLK_ADDRESS_NONE, undefined in OpenCL"},
      {"extensions", text_of(api, at.device, CL_DEVICE_EXTENSIONS)}};
  if (const std::string own = architecture_in(d.name); !own.empty())
    d.facts.emplace_back("architecture", own);
  const auto mhz = number_of<cl_uint>(api, at.device, CL_DEVICE_MAX_CLOCK_FREQUENCY);
  d.facts.emplace_back("clock_mhz", std::to_string(mhz));
  d.facts.emplace_back(
      "f64", text_of(api, at.device, CL_DEVICE_EXTENSIONS).find("cl_khr_fp64") != std::string::npos
                 ? "yes"
                 : "no");
  const bool f16 =
      text_of(api, at.device, CL_DEVICE_EXTENSIONS).find("cl_khr_fp16") != std::string::npos;
  d.facts.emplace_back("types", f16 ? "f16 f16x2 i8 dot" : "i8 dot");
  d.facts.emplace_back("stores", f16 ? "f16 f16x2 bf16 i8 u8" : "f16 bf16 i8 u8");
  // A device of class cpu is the host's processor; on all others, lanes are threads.
  if (d.facts[0].second == "cpu") {
    d.facts.emplace_back("isa", cpu::read_cpu_info().isa);
  } else {
    d.threads = d.phased = d.merges = true;
    if (const int lanes = wave_of(api, at); lanes > 1) d.widths = {lanes};
    d.clock_hz = 1e6 * mhz;
    d.facts.emplace_back("compute_units", std::to_string(d.units));
    d.units = 1;
  }
  return d;
}

Result<Session> start(const Api& api, const Place& at, const std::string& id) {
  Session s{api, at, id, "", {}};
  s.units = describe(api, at, 0).units;
  s.fingerprint = hash_hex(text_of(api, at.platform, CL_PLATFORM_VERSION) + '\n' +
                           text_of(api, at.device, CL_DEVICE_NAME) + '\n' +
                           text_of(api, at.device, CL_DEVICE_VERSION) + '\n' +
                           text_of(api, at.device, CL_DRIVER_VERSION));
  s.limits.buffer_bytes = number_of<cl_ulong>(api, at.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  s.limits.group_threads = number_of<size_t>(api, at.device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  s.limits.group_bytes = number_of<cl_ulong>(api, at.device, CL_DEVICE_LOCAL_MEM_SIZE);
  s.limits.shares_memory = number_of<cl_bool>(api, at.device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
  // A processor's work-groups run on operating-system threads: started ones run concurrently.
  const bool is_processor =
      (number_of<cl_device_type>(api, at.device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  if (is_processor && s.limits.shares_memory) s.ticks = ticks_per_second();
  cl_int status = CL_SUCCESS;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(at.platform), 0};
  s.context = {api.clCreateContext(properties, 1, &at.device, nullptr, nullptr, &status),
               api.clReleaseContext};
  if (status != CL_SUCCESS) return failure("clCreateContext", status);
  s.queue = {
      api.clCreateCommandQueue(s.context.get(), at.device, CL_QUEUE_PROFILING_ENABLE, &status),
      api.clReleaseCommandQueue};
  if (status != CL_SUCCESS) return failure("clCreateCommandQueue", status);
  return s;
}

// Builds merged kernels as `options` says, when they are first asked for.
MergedBuilder merged_builder(const codegen::Dialect& dialect, const Session& session,
                             const LoadOptions& options, int threads) {
  LoadOptions later = options;
  later.progress = {};
  later.cancel = nullptr;
  return [=, &session](std::span<const ir::Kernel> kernels) -> Result<Build> {
    Diags warnings;
    auto cache = KernelCache::open(later.cache_dir, warnings);
    if (!cache) return cache.diags();
    return build({kernels, dialect, session, later, threads, Form::merged}, *cache);
  };
}

class OpenclDevice final : public Device {  // invariant: session_ is open
 public:
  OpenclDevice(DeviceInfo info, Session session, codegen::Dialect dialect)
      : info_(std::move(info)),
        session_(std::make_shared<Session>(std::move(session))),
        dialect_(std::move(dialect)) {
    info_.in_sequence = session_->ticks > 0 && codegen::has_sequence(dialect_);
    info_.scheduled_units = info_.in_sequence ? info_.units : 0;
  }

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
    Diags warnings;
    auto cache = KernelCache::open(options.cache_dir, warnings);
    if (!cache) return cache.diags();
    LaunchMode how;
    how.threads = hwdesc::threads_of(target);
    if (static_cast<size_t>(how.threads) > session_->limits.group_threads)
      return error(fmt::format("{} allows {} threads in a group, the target has {} lanes", info_.id,
                               session_->limits.group_threads, how.threads));
    if (const Diags many = check_waves(info_.id, kernels, how.threads,
                                       static_cast<int64_t>(session_->limits.group_threads));
        has_error(many))
      return many;
    how.in_sequence = info_.in_sequence && !options.one_by_one && how.threads == 1;
    auto built = build({kernels, *dialect, *session_, options, how.threads,
                        how.in_sequence ? Form::sequence : Form::each},
                       *cache);
    if (!built) return built.diags();
    how.build_merged = merged_builder(*dialect, *session_, options, how.threads);
    return OpenclModule::make(session_, kernels, std::move(built).value(), std::move(how),
                              options.guarded, std::move(warnings));
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<Session> session_;
  codegen::Dialect dialect_;
};

}  // namespace

Found find() {
  Found found;
  const auto api = load_api();
  if (!api) return {{}, {{"opencl", api.diags()[0].message}}};
  const auto places = list_devices(**api);
  if (!places) return {{}, {{"opencl", places.diags()[0].message}}};
  if (places->empty()) return {{}, {{"opencl", "its drivers list no device"}}};
  for (size_t i = 0; i < places->size(); ++i)
    found.devices.push_back(describe(**api, (*places)[i], i));
  return found;
}

Result<std::unique_ptr<Device>> open(const std::string& id) {
  const auto api = load_api();
  if (!api) return api.diags();
  const auto places = list_devices(**api);
  if (!places) return places.diags();
  auto dialect = codegen::parse_dialect(codegen::dialect_text(kDialect),
                                        fmt::format("dialects/{}.yaml", kDialect));
  if (!dialect) return dialect.diags();
  for (size_t i = 0; i < places->size(); ++i) {
    DeviceInfo info = describe(**api, (*places)[i], i);
    if (info.id != id) continue;
    auto session = start(**api, (*places)[i], id);
    if (!session) return session.diags();
    return std::unique_ptr<Device>(std::make_unique<OpenclDevice>(
        std::move(info), std::move(session).value(), std::move(dialect).value()));
  }
  return error(fmt::format("{} is no longer there", id), "`assay devices` lists the devices");
}

}  // namespace assay::runtime::opencl
