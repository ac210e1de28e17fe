// One device in use: its context and its queue, shared by the modules that run on it.
#pragma once

#include <string>

#include "runtime/device.h"
#include "runtime/opencl/api.h"

namespace assay::runtime::opencl {

struct Limits {
  size_t buffer_bytes = 0;  // of one allocation
  size_t group_threads = 0;
  size_t group_bytes = 0;      // local memory of one group
  bool shares_memory = false;  // with the host: buffers are made of host pages
};

struct Session {
  const Api& api;
  Place place;
  std::string id, fingerprint;  // of device, driver and compiler, on which binaries depend
  Limits limits;
  int units = 1;
  double ticks = 0;  // per second, of the clock that kernels and host share; 0: there is none
  Owned<cl_context> context{};
  Owned<cl_command_queue> queue{};  // in order, with timestamps
};

}  // namespace assay::runtime::opencl
