// One device in use: its context and its stream, shared by the modules that run on it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/cuda/api.h"

namespace assay::runtime::cuda {

struct Limits {
  int wave_lanes = 0;
  int group_threads = 0;
  int64_t group_bytes = 0;
  int64_t constant_bytes = 0;  // of one kernel
};

struct Session {
  const Api& api;
  int device = 0;
  std::string id;
  int capability = 0;  // 90: 9.0
  Limits limits{};
  std::unique_ptr<ContextRecord, std::function<void(Context)>> context{};  // the device's primary one
  Owned<Stream> stream{};

  // Driver calls of this thread go to this device from here on.
  Status enter() const { return api.set_context(context.get()); }
};

}  // namespace assay::runtime::cuda
