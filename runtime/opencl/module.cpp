#include "runtime/opencl/module.h"

#include <fmt/format.h>

#include "codegen/render.h"
#include "runtime/launch.h"
#include "runtime/phases.h"

namespace assay::runtime::opencl {
namespace {

// As the driver reports it. Not for a sequence, which is one function for all kernels.
int64_t private_bytes(const Session& session, cl_kernel kernel) {
  cl_ulong bytes = 0;
  const cl_int status = session.api.clGetKernelWorkGroupInfo(
      kernel, session.place.device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  return status == CL_SUCCESS && bytes > 0 ? static_cast<int64_t>(bytes) : -1;
}

}  // namespace

Result<std::unique_ptr<Module>> OpenclModule::make(std::shared_ptr<Session> session,
                                                   std::span<const ir::Kernel> kernels, Build build,
                                                   LaunchMode how, bool guarded, Diags warnings) {
  Diags diags;
  for (const ir::Kernel& k : kernels)
    if (const auto needed = static_cast<size_t>(codegen::scratch_bytes(k));
        needed > session->limits.group_bytes)
      diags.push_back(error(fmt::format("kernel '{}' needs {} bytes of group memory, {} has {}",
                                        k.name, needed, session->id, session->limits.group_bytes)));
  if (has_error(diags)) return diags;
  auto m = std::make_unique<OpenclModule>();
  m->session_ = std::move(session);
  const Session& s = *m->session_;
  for (size_t i = 0; i < kernels.size(); ++i)
    m->reports_.push_back(
        {kernels[i].name, 0, how.in_sequence ? -1 : private_bytes(s, build.kernels[i].entry)});
  m->loaded_ = std::make_unique<Loaded>(
      Loaded{s, {kernels.begin(), kernels.end()}, std::move(build), {s, guarded}});
  m->warnings_ = std::move(warnings);
  auto launcher = how.threads > 1
                      ? make_by_threads(*m->loaded_, how.threads, std::move(how.build_merged))
                  : how.in_sequence ? make_in_sequence(*m->loaded_)
                                    : make_one_by_one(*m->loaded_);
  if (!launcher) return launcher.diags();
  m->launcher_ = std::move(launcher).value();
  return std::unique_ptr<Module>(std::move(m));
}

Diags OpenclModule::check(std::span<const Launch> launches, const RunOptions& options) const {
  const Buffers& buffers = loaded_->buffers;
  if (Diags faults = check_launches(launches, loaded_->definitions, buffers.size(),
                                    [&](int b) { return buffers.bytes_of(b); });
      has_error(faults))
    return faults;
  if (Diags faults =
          check_images(launches, loaded_->definitions, [&](int b) { return buffers.image_of(b); });
      has_error(faults))
    return faults;
  if (!launcher_->runs_phases()) return refuse_phases(session_->id, options);
  return check_phases_of(options, launches.size());
}

Result<Refusal> OpenclModule::prepare(std::span<const Launch> launches, const RunOptions& options) {
  if (Diags faults = check(launches, options); has_error(faults)) return faults;
  if (Diags faults = launcher_->prepare(launches, options); has_error(faults)) return faults;
  return Refusal{};
}

Result<RunTimes> OpenclModule::run(std::span<const Launch> launches, const RunOptions& options) {
  if (options.repeat < 0 || options.warm_up < 0)
    return error("repeat and warm_up can not be negative");
  Diags faults = loaded_->buffers.take_lost();
  if (has_error(faults)) return faults;
  faults = check(launches, options);
  if (has_error(faults)) return faults;
  Result<RunTimes> times = launcher_->run(launches, options);
  if (!times) return times;
  faults = loaded_->buffers.check_guards();
  if (has_error(faults)) return faults;
  return times;
}

}  // namespace assay::runtime::opencl
