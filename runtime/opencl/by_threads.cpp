#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/launch.h"
#include "runtime/opencl/launcher.h"

namespace assay::runtime::opencl {
namespace {

class ByThreads final : public Launcher {
 public:
  ByThreads(Loaded& loaded, int threads)
      : loaded_(loaded), session_(loaded.session), threads_(static_cast<size_t>(threads)) {}

  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;

 private:
  Diags run_once(std::span<const Launch> launches, RunTimes* times);
  Result<RunTimes> run_recorded(std::span<const Launch> launches, const RunOptions& options);
  cl_int enqueue(const Launch& launch, std::vector<Owned<cl_event>>& events, const char*& call);
  cl_int record(const Launch& launch, Recording& to, const char*& call);
  cl_int set_arguments(const Launch& launch, const GroupRange& groups, cl_kernel kernel);
  const ir::Kernel& definition_of(const Launch& launch) const {
    return loaded_.definitions[static_cast<size_t>(launch.kernel)];
  }
  size_t threads_of(const Launch& launch) const {
    return threads_ * static_cast<size_t>(definition_of(launch).waves);
  }

  Loaded& loaded_;
  const Session& session_;
  size_t threads_;  // of a wave
};

cl_int ByThreads::set_arguments(const Launch& launch, const GroupRange& groups, cl_kernel kernel) {
  cl_uint position = 0;
  if (const cl_int s = bind_buffers(loaded_, launch, kernel, position)) return s;
  const cl_long first = groups.begin;
  return session_.api.clSetKernelArg(kernel, position, sizeof first, &first);
}

cl_int ByThreads::enqueue(const Launch& launch, std::vector<Owned<cl_event>>& events,
                          const char*& call) {
  const cl_kernel kernel = loaded_.build.kernels[static_cast<size_t>(launch.kernel)].entry;
  for (const GroupRange& r : ranges_of(launch, definition_of(launch).groups)) {
    call = "clSetKernelArg";
    if (const cl_int s = set_arguments(launch, r, kernel)) return s;
    const size_t group = threads_of(launch), items = static_cast<size_t>(r.end - r.begin) * group;
    cl_event event = nullptr;
    call = "clEnqueueNDRangeKernel";
    if (const cl_int s = session_.api.clEnqueueNDRangeKernel(
            session_.queue.get(), kernel, 1, nullptr, &items, &group, 0, nullptr, &event))
      return s;
    events.push_back({event, session_.api.clReleaseEvent});
  }
  return CL_SUCCESS;
}

cl_int ByThreads::record(const Launch& launch, Recording& to, const char*& call) {
  for (const GroupRange& r : ranges_of(launch, definition_of(launch).groups)) {
    cl_int status = CL_SUCCESS;
    call = "clCreateKernel";
    Owned<cl_kernel> kernel = copy_of(loaded_, launch, status);
    if (status != CL_SUCCESS) return status;
    call = "clSetKernelArg";
    if (const cl_int s = set_arguments(launch, r, kernel.get())) return s;
    call = "clCommandNDRangeKernelKHR";
    if (const cl_int s =
            to.add(std::move(kernel), static_cast<size_t>(r.end - r.begin) * threads_of(launch),
                   threads_of(launch)))
      return s;
  }
  return CL_SUCCESS;
}

Result<RunTimes> ByThreads::run_recorded(std::span<const Launch> launches,
                                         const RunOptions& options) {
  auto recording = Recording::begin(session_);
  if (!recording) return recording.diags();
  for (size_t l = 0; l < launches.size(); ++l) {
    const char* call = "";
    if (const cl_int s = record(launches[l], *recording, call))
      return failure_at(loaded_, launches, l, call, s);
  }
  return run_all(*recording, options);
}

Diags ByThreads::run_once(std::span<const Launch> launches, RunTimes* times) {
  std::vector<Owned<cl_event>> events;
  std::vector<size_t> ends;
  const char* call = "";
  for (const Launch& l : launches) {
    const cl_int status = enqueue(l, events, call);
    if (status == CL_SUCCESS) {
      ends.push_back(events.size());
      continue;
    }
    session_.api.clFinish(session_.queue.get());
    return {failure_at(loaded_, launches, ends.size(), call, status)};
  }
  size_t event = 0;
  if (const cl_int status = finish(session_, events, event, call); status != CL_SUCCESS) {
    const auto launch = std::upper_bound(ends.begin(), ends.end(), event) - ends.begin();
    return {failure_at(loaded_, launches,
                       std::min(static_cast<size_t>(launch), launches.size() - 1), call, status)};
  }
  return times == nullptr ? Diags{} : read_steps(session_, events, ends, *times);
}

Result<RunTimes> ByThreads::run(std::span<const Launch> launches, const RunOptions& options) {
  RunTimes times;
  if (options.recorded && !launches.empty()) return run_recorded(launches, options);
  for (int i = 0; i < options.warm_up + options.repeat && !launches.empty(); ++i) {
    if (options.cancel != nullptr && options.cancel->load()) return error("cancelled");
    if (const Diags failed = run_once(launches, i < options.warm_up ? nullptr : &times);
        has_error(failed))
      return failed;
  }
  return times;
}

}  // namespace

Result<std::unique_ptr<Launcher>> make_by_threads(Loaded& loaded, int threads) {
  return std::unique_ptr<Launcher>(std::make_unique<ByThreads>(loaded, threads));
}

}  // namespace assay::runtime::opencl
