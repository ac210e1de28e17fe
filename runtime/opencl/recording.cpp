#include "runtime/opencl/recording.h"

namespace assay::runtime::opencl {
namespace {

template <class Function>
bool look_up(const Session& s, const char* name, Function& to) {
  to = reinterpret_cast<Function>(s.api.extension(s.place.platform, name));
  return to != nullptr;
}

}  // namespace

Result<Recording> Recording::begin(const Session& session) {
  RecordingApi api;
  const bool has = session.api.extension != nullptr &&
                   text_of(session.api, session.place.device, CL_DEVICE_EXTENSIONS)
                           .find("cl_khr_command_buffer") != std::string::npos &&
                   look_up(session, "clCreateCommandBufferKHR", api.create) &&
                   look_up(session, "clReleaseCommandBufferKHR", api.release) &&
                   look_up(session, "clFinalizeCommandBufferKHR", api.finalize) &&
                   look_up(session, "clEnqueueCommandBufferKHR", api.enqueue) &&
                   look_up(session, "clCommandFillBufferKHR", api.fill) &&
                   look_up(session, "clCommandNDRangeKernelKHR", api.kernel);
  if (!has) return error("its driver can not record launches: it has no cl_khr_command_buffer");
  Recording r(session, api);
  const cl_command_queue queue = session.queue.get();
  cl_int status = CL_SUCCESS;
  r.commands_ = {api.create(1, &queue, nullptr, &status), api.release};
  if (status != CL_SUCCESS) return failure("clCreateCommandBufferKHR", status);
  return r;
}

cl_int Recording::added(cl_int status, RecordingApi::Point point) {
  last_ = point;
  any_ = any_ || status == CL_SUCCESS;
  return status;
}

cl_int Recording::add(Owned<cl_kernel> kernel, size_t items, size_t group) {
  RecordingApi::Point point = 0;
  kernels_.push_back(std::move(kernel));
  const cl_int status =
      api_.kernel(commands_.get(), nullptr, nullptr, kernels_.back().get(), 1, nullptr, &items,
                  &group, any_ ? 1 : 0, before(), &point, nullptr);
  return added(status, point);
}

cl_int Recording::add_zeros(cl_mem buffer, size_t bytes) {
  constexpr cl_uint kZero = 0;
  RecordingApi::Point point = 0;
  const cl_int status = api_.fill(commands_.get(), nullptr, buffer, &kZero, sizeof kZero, 0, bytes,
                                  any_ ? 1 : 0, before(), &point, nullptr);
  return added(status, point);
}

cl_int Recording::end() { return api_.finalize(commands_.get()); }

Diags Recording::run() {
  // No queue given: it uses the one that it was recorded for.
  if (const cl_int s = api_.enqueue(0, nullptr, commands_.get(), 0, nullptr, nullptr))
    return {failure("clEnqueueCommandBufferKHR", s)};
  if (const cl_int s = session_->api.clFinish(session_->queue.get()))
    return {failure("clFinish", s)};
  return {};
}

}  // namespace assay::runtime::opencl
