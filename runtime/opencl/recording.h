// Launches recorded once and submitted as one (cl_khr_command_buffer), in order.
#pragma once

#include <vector>

#include "runtime/opencl/session.h"

namespace assay::runtime::opencl {

// The extension's functions, declared here since not every system's headers have them.
struct RecordingApi {
  using Commands = struct CommandsRecord*;  // cl_command_buffer_khr
  using Point = cl_uint;                    // cl_sync_point_khr
  Commands(CL_API_CALL* create)(cl_uint queues, const cl_command_queue* queue,
                                const void* properties, cl_int* status) = nullptr;
  cl_int(CL_API_CALL* release)(Commands) = nullptr;
  cl_int(CL_API_CALL* finalize)(Commands) = nullptr;
  cl_int(CL_API_CALL* enqueue)(cl_uint queues, cl_command_queue* queue, Commands, cl_uint awaited,
                               const cl_event*, cl_event*) = nullptr;
  cl_int(CL_API_CALL* fill)(Commands, cl_command_queue, cl_mem, const void* pattern,
                            size_t pattern_bytes, size_t offset, size_t bytes, cl_uint awaited,
                            const Point*, Point*, void* handle) = nullptr;
  cl_int(CL_API_CALL* kernel)(Commands, cl_command_queue, const void* properties, cl_kernel,
                              cl_uint dimensions, const size_t* offset, const size_t* items,
                              const size_t* group, cl_uint awaited, const Point*, Point*,
                              void* handle) = nullptr;
};

class Recording {  // invariant: commands_ are recorded in order; after end(), run() may be called
                   // as often as wanted
 public:
  // Errors: the driver does not have the extension.
  static Result<Recording> begin(const Session& session);

  // With the kernel's current arguments; keeps the kernel alive. CL_SUCCESS, or the driver's
  // status.
  cl_int add(Owned<cl_kernel> kernel, size_t items, size_t group);
  cl_int add_zeros(cl_mem buffer, size_t bytes);
  cl_int end();
  // Submits the recording and waits.
  Diags run();

 private:
  Recording(const Session& session, const RecordingApi& api) : session_(&session), api_(api) {}
  const RecordingApi::Point* before() const { return any_ ? &last_ : nullptr; }
  cl_int added(cl_int status, RecordingApi::Point point);

  const Session* session_;
  RecordingApi api_;
  std::vector<Owned<cl_kernel>> kernels_;
  Owned<RecordingApi::Commands> commands_;
  RecordingApi::Point last_ = 0;
  bool any_ = false;
};

}  // namespace assay::runtime::opencl
