#include "runtime/cuda/module.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/render.h"
#include "runtime/launch.h"
#include "runtime/phases.h"

namespace assay::runtime::cuda {

Diags check_constants(const Session& session, std::span<const ir::Kernel> kernels) {
  Diags diags;
  for (const ir::Kernel& k : kernels) {
    int64_t bytes = 0;
    for (const ir::Buffer& b : k.buffers)
      if (b.space == ir::Space::constant) bytes += b.elements * ir::bytes_of(b.dtype);
    if (bytes > session.limits.constant_bytes)
      diags.push_back(error(fmt::format("{}: kernel '{}' has {} bytes of constants, of {} at most",
                                        session.id, k.name, bytes, session.limits.constant_bytes)));
  }
  return diags;
}

CudaModule::CudaModule(std::shared_ptr<Session> session, std::span<const ir::Kernel> kernels,
                       ModuleOptions options)
    : session_(std::move(session)),
      kernels_{{kernels.begin(), kernels.end()}, options.threads},
      buffers_(*session_, options.guarded),
      steps_(*session_, buffers_, kernels_, std::move(options.build_merged)),
      scheduled_(*session_, buffers_, kernels_.definitions, reports_, options.threads,
                 std::move(options.build_schedule)) {}

Result<std::unique_ptr<Module>> CudaModule::make(std::shared_ptr<Session> session,
                                                 std::span<const ir::Kernel> kernels,
                                                 const Build& build, ModuleOptions options,
                                                 Diags warnings) {
  Diags diags;
  for (const ir::Kernel& k : kernels)
    if (const int64_t needed = codegen::scratch_bytes(k); needed > session->limits.group_bytes)
      diags.push_back(error(fmt::format("kernel '{}' needs {} bytes of group memory, {} has {}",
                                        k.name, needed, session->id, session->limits.group_bytes)));
  if (has_error(diags)) return diags;
  auto m = std::make_unique<CudaModule>(std::move(session), kernels, std::move(options));
  m->build_seconds_ = build.seconds;
  m->warnings_ = std::move(warnings);
  diags = m->load(build);
  if (has_error(diags)) return diags;
  return std::unique_ptr<Module>(std::move(m));
}

Diags CudaModule::load(const Build& build) {
  if (const Status s = session_->enter()) return {failure(session_->api, "cuCtxSetCurrent", s)};
  Diags diags;
  std::map<std::filesystem::path, Code> loaded;
  for (size_t i = 0; i < kernels_.definitions.size(); ++i) {
    const Diags faults = load(i, build.kernels[i], loaded);
    diags.insert(diags.end(), faults.begin(), faults.end());
  }
  return diags;
}

Diags CudaModule::load(size_t kernel, const BuiltKernel& built,
                       std::map<std::filesystem::path, Code>& loaded) {
  const Api& api = session_->api;
  const ir::Kernel& k = kernels_.definitions[kernel];
  const auto fail = [&](const char* call, Status status) {
    Diag d = failure(api, call, status);
    d.message = fmt::format("kernel '{}': {}", k.name, d.message);
    return Diags{std::move(d)};
  };
  Code& code = loaded[built.cubin];
  if (code == nullptr) {
    const auto bytes = read_file(built.cubin);
    if (!bytes)
      return {
          error(fmt::format("kernel '{}': '{}' can not be read", k.name, built.cubin.string()))};
    if (const Status s = api.load_code(&code, bytes->data())) return fail("cuModuleLoadData", s);
    code_.emplace_back(code, api.unload_code);
  }
  Function function = nullptr;
  if (const Status s = api.get_function(&function, code, built.entry.c_str()))
    return fail("cuModuleGetFunction", s);
  KernelReport report{k.name};
  int local = 0;
  if (api.function_attribute(&local, kLocalBytes, function) == kSuccess) report.stack_bytes = local;
  report.registers = registers_of(api, function);
  const int64_t group_bytes = codegen::scratch_bytes(k);
  const int share = group_memory_share(session_->limits, group_bytes,
                                       int64_t{kernels_.threads} * k.waves, report.registers);
  if (const Status s = set_group_memory(api, function, group_bytes, share))
    return fail("cuFuncSetAttribute", s);
  reports_.push_back(std::move(report));
  kernels_.functions.push_back(function);
  return find_constants(kernel, code, built.entry);
}

// Constants are variables of the module, named by kernel and position.
Diags CudaModule::find_constants(size_t kernel, Code code, const std::string& entry) {
  const ir::Kernel& k = kernels_.definitions[kernel];
  std::vector<Constant>& found = kernels_.constants.emplace_back();
  size_t argument = 0;
  for (const ir::Buffer& b : k.buffers) {
    if (b.scope == ir::Scope::scratch) continue;
    const size_t position = argument++;
    if (b.space != ir::Space::constant) continue;
    Constant c{position, 0, 0};
    const std::string name = fmt::format("{}_constant_{}", entry, position);
    if (const Status s = session_->api.get_global(&c.address, &c.bytes, code, name.c_str()))
      return {failure(session_->api, "cuModuleGetGlobal", s)};
    const auto needed = static_cast<size_t>(b.elements * ir::bytes_of(b.dtype));
    ASSAY_CHECK(needed <= c.bytes);
    c.bytes = needed;
    found.push_back(c);
  }
  return {};
}

Diags CudaModule::check(std::span<const Launch> launches) const {
  Diags faults = check_launches(launches, kernels_.definitions, buffers_.size(),
                                [&](int b) { return buffers_.bytes_of(b); });
  if (has_error(faults)) return faults;
  return check_images(launches, kernels_.definitions, [&](int b) {
    return buffers_.image_of(b) == nullptr ? nullptr : &buffers_.image_of(b)->shape;
  });
}

Result<Refusal> CudaModule::prepare(std::span<const Launch> launches, const RunOptions& options) {
  if (Diags faults = check(launches); has_error(faults)) return faults;
  if (const Status s = session_->enter()) return failure(session_->api, "cuCtxSetCurrent", s);
  if (options.phases.empty()) return scheduled_.prepare(launches, options.resident);
  if (Diags faults = check_phases_of(options, launches.size()); has_error(faults)) return faults;
  if (Diags faults = steps_.prepare(launches, options); has_error(faults)) return faults;
  return Refusal{};
}

Result<RunTimes> CudaModule::run(std::span<const Launch> launches, const RunOptions& options) {
  if (options.repeat < 0 || options.warm_up < 0)
    return error("repeat and warm_up can not be negative");
  if (options.recorded && !options.schedule.empty())
    return error("a schedule is one launch, so there is nothing to record");
  Diags faults = buffers_.take_lost();
  if (has_error(faults)) return faults;
  faults = check(launches);
  if (has_error(faults)) return faults;
  faults = check_phases_of(options, launches.size());
  if (has_error(faults)) return faults;
  if (const Status s = session_->enter()) return failure(session_->api, "cuCtxSetCurrent", s);
  auto times =
      options.schedule.empty() ? steps_.run(launches, options) : scheduled_.run(launches, options);
  if (!times) return times;
  faults = buffers_.check_guards();
  if (has_error(faults)) return faults;
  return times;
}

}  // namespace assay::runtime::cuda
