// One device in use: its context and its stream, shared by the modules that run on it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/cuda/api.h"

namespace assay::runtime::cuda {

struct Limits {
  int scheduled_units = 0;  // that can work through queues: all or none
  int group_threads = 0;
  int64_t group_bytes = 0;
  int64_t constant_bytes = 0;  // of one kernel
  int unit_threads = 0, unit_groups = 0, unit_registers = 0;
  int64_t unit_bytes = 0,
          reserved_bytes = 0;  // of group memory; the driver's part in every group
};

struct Session {
  const Api& api;
  int device = 0;
  std::string id;
  int capability = 0;  // 90: 9.0
  Limits limits{};
  std::string bus{};  // PCI address: 0000:3b:00.0
  std::unique_ptr<ContextRecord, std::function<void(Context)>>
      context{};  // the device's primary context
  Owned<Stream> stream{};

  // Makes this device current for the calling thread.
  Status enter() const { return api.set_context(context.get()); }
};

}  // namespace assay::runtime::cuda
