#include <algorithm>

#include <fmt/format.h>

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
  cl_int enqueue(const Launch& launch, std::vector<Owned<cl_event>>& events, const char*& call);

  Loaded& loaded_;
  const Session& session_;
  size_t threads_;  // of a wave
};

cl_int ByThreads::enqueue(const Launch& launch, std::vector<Owned<cl_event>>& events, const char*& call) {
  const auto k = static_cast<size_t>(launch.kernel);
  const cl_kernel kernel = loaded_.build.kernels[k].entry;
  cl_uint position = 0;
  call = "clSetKernelArg";
  if (const cl_int s = bind_buffers(loaded_, launch, position)) return s;
  for (const GroupRange& r : ranges_of(launch, loaded_.definitions[k].groups)) {
    const cl_long first = r.begin;
    call = "clSetKernelArg";
    if (const cl_int s = session_.api.clSetKernelArg(kernel, position, sizeof first, &first)) return s;
    const size_t threads = threads_ * static_cast<size_t>(loaded_.definitions[k].waves);
    const size_t items = static_cast<size_t>(r.end - r.begin) * threads;
    cl_event event = nullptr;
    call = "clEnqueueNDRangeKernel";
    if (const cl_int s = session_.api.clEnqueueNDRangeKernel(session_.queue.get(), kernel, 1, nullptr, &items,
                                                             &threads, 0, nullptr, &event))
      return s;
    events.push_back({event, session_.api.clReleaseEvent});
  }
  return CL_SUCCESS;
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
    return {failure_at(loaded_, launches, std::min(static_cast<size_t>(launch), launches.size() - 1), call, status)};
  }
  return times == nullptr ? Diags{} : read_steps(session_, events, ends, *times);
}

Result<RunTimes> ByThreads::run(std::span<const Launch> launches, const RunOptions& options) {
  RunTimes times;
  for (int i = 0; i < options.warm_up + options.repeat && !launches.empty(); ++i) {
    if (options.cancel != nullptr && options.cancel->load()) return error("cancelled");
    if (const Diags failed = run_once(launches, i < options.warm_up ? nullptr : &times); has_error(failed)) return failed;
  }
  return times;
}

}  // namespace

Result<std::unique_ptr<Launcher>> make_by_threads(Loaded& loaded, int threads) {
  return std::unique_ptr<Launcher>(std::make_unique<ByThreads>(loaded, threads));
}

}  // namespace assay::runtime::opencl
