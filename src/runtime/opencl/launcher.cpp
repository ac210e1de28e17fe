#include "runtime/opencl/launcher.h"

#include <fmt/format.h>

namespace assay::runtime::opencl {

Result<EventTimes> times_of(const Session& session, cl_event event) {
  EventTimes t;
  const std::pair<cl_profiling_info, cl_ulong*> wanted[] = {{CL_PROFILING_COMMAND_QUEUED, &t.queued},
                                                            {CL_PROFILING_COMMAND_START, &t.start},
                                                            {CL_PROFILING_COMMAND_END, &t.end}};
  for (const auto& [what, value] : wanted)
    if (const cl_int status = session.api.clGetEventProfilingInfo(event, what, sizeof *value, value, nullptr))
      return failure("clGetEventProfilingInfo", status);
  if (t.start < t.queued || t.end < t.start) return error(fmt::format("{}: its clock runs backwards", session.id));
  return t;
}

Diag failure_at(const Loaded& loaded, std::span<const Launch> launches, size_t at, const char* call, cl_int status) {
  Diag d = failure(call, status);
  d.message = fmt::format("{}: launch {} ('{}'): {}", loaded.session.id, at,
                          loaded.definitions[static_cast<size_t>(launches[at].kernel)].name, d.message);
  return d;
}

cl_int finish(const Session& session, std::span<const Owned<cl_event>> events, size_t& at, const char*& call) {
  call = "clFinish";
  if (const cl_int status = session.api.clFinish(session.queue.get())) return status;
  for (size_t i = 0; i < events.size(); ++i) {
    cl_int state = CL_COMPLETE;
    session.api.clGetEventInfo(events[i].get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    if (state >= 0) continue;
    call = "a kernel";
    at = i;
    return state;
  }
  return CL_SUCCESS;
}

}  // namespace assay::runtime::opencl
