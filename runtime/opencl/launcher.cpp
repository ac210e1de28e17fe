#include "runtime/opencl/launcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/launch.h"
#include "runtime/phases.h"

namespace assay::runtime::opencl {

Result<EventTimes> times_of(const Session& session, cl_event event) {
  EventTimes t;
  const std::pair<cl_profiling_info, cl_ulong*> wanted[] = {
      {CL_PROFILING_COMMAND_QUEUED, &t.queued},
      {CL_PROFILING_COMMAND_START, &t.start},
      {CL_PROFILING_COMMAND_END, &t.end}};
  for (const auto& [what, value] : wanted)
    if (const cl_int status =
            session.api.clGetEventProfilingInfo(event, what, sizeof *value, value, nullptr))
      return failure("clGetEventProfilingInfo", status);
  if (t.start < t.queued || t.end < t.start)
    return error(fmt::format("{}: its clock runs backwards", session.id));
  return t;
}

Owned<cl_kernel> copy_of(const Session& session, const BuiltKernel& kernel, cl_int& status) {
  return {session.api.clCreateKernel(kernel.program, kernel.name.c_str(), &status),
          session.api.clReleaseKernel};
}

cl_int bind_buffers(const Loaded& loaded, const Launch& launch, cl_kernel kernel,
                    cl_uint& position) {
  const ir::Kernel& k = loaded.definitions[static_cast<size_t>(launch.kernel)];
  const Api& api = loaded.session.api;
  size_t argument = 0;
  for (const ir::Buffer& b : k.buffers) {
    if (b.scope == ir::Scope::scratch) {
      const auto bytes =
          static_cast<size_t>(std::max<int64_t>(1, b.elements) * ir::bytes_of(b.dtype));
      if (const cl_int s = api.clSetKernelArg(kernel, position++, bytes, nullptr)) return s;
      continue;
    }
    const BufferRange& range = launch.arguments[argument++];
    const cl_mem memory = loaded.buffers.memory_of(range.buffer);
    const cl_long first = loaded.buffers.offset_of(range) / ir::bytes_of(b.dtype);
    if (const cl_int s = api.clSetKernelArg(kernel, position++, sizeof memory, &memory)) return s;
    if (b.space == ir::Space::image) continue;  // images are bound without an offset
    if (const cl_int s = api.clSetKernelArg(kernel, position++, sizeof first, &first)) return s;
  }
  return CL_SUCCESS;
}

Diags read_steps(const Session& session, std::span<const Owned<cl_event>> events,
                 std::span<const size_t> ends, RunTimes& times) {
  std::vector<double> steps, busy;
  cl_ulong before = 0;
  double total = 0;
  size_t i = 0;
  for (const size_t end : ends) {
    EventTimes all{before, before, before};  // of a launch without groups
    for (bool first = true; i < end; ++i, first = false) {
      const auto one = times_of(session, events[i].get());
      if (!one) return one.diags();
      if (first) all = *one;
      all.end = one->end;
    }
    if (steps.empty()) before = all.queued;
    if (all.end < before) return {error(fmt::format("{}: its clock runs backwards", session.id))};
    steps.push_back(static_cast<double>(all.end - before) * 1e-9);
    busy.push_back(static_cast<double>(all.end - all.start) * 1e-9);
    total += steps.back();
    before = all.end;
  }
  times.steps.push_back(std::move(steps));
  times.busy.push_back(std::move(busy));
  times.total.push_back(total);
  return {};
}

Diag failure_at(const Loaded& loaded, std::span<const Launch> launches, size_t at, const char* call,
                cl_int status) {
  return failure_of_step(loaded, launches, {}, at, call, status);
}

Diag failure_of_step(const Loaded& loaded, std::span<const Launch> launches,
                     const RunOptions& options, size_t step, const char* call, cl_int status) {
  Diag d = failure(call, status);
  d.message = fmt::format("{}: {}: {}", loaded.session.id,
                          name_of_step(launches, loaded.definitions, options, step), d.message);
  return d;
}

cl_int finish(const Session& session, std::span<const Owned<cl_event>> events, size_t& at,
              const char*& call) {
  call = "clFinish";
  if (const cl_int status = session.api.clFinish(session.queue.get())) return status;
  for (size_t i = 0; i < events.size(); ++i) {
    cl_int state = CL_COMPLETE;
    session.api.clGetEventInfo(events[i].get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                               &state, nullptr);
    if (state >= 0) continue;
    call = "a kernel";
    at = i;
    return state;
  }
  return CL_SUCCESS;
}

Result<RunTimes> run_all(Recording& recording, const RunOptions& options) {
  if (const cl_int s = recording.end()) return failure("clFinalizeCommandBufferKHR", s);
  return time_recorded(options, [&] { return recording.run(); });
}

}  // namespace assay::runtime::opencl
