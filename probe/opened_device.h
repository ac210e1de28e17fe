// The device as a worker opens it, with the probe's kernels. The parent never opens it: drivers
// keep threads, which a fork does not copy.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/observation.h"
#include "probe/sampling/worker.h"
#include "runtime/device.h"
#include "support/result.h"

namespace assay::probe {

struct OpenedDevice {
  std::unique_ptr<runtime::Device> device;
  std::vector<ir::Kernel> kernels;
  std::string cache_dir;  // of built kernels; "": the runtime's own

  // Errors: the device can not be opened.
  static Result<OpenedDevice> open(const std::string& id, const std::string& cache_dir);

  const runtime::DeviceInfo& info() const { return device->info(); }

  // Throws if the kernels can not be built, which ends the worker. `one_by_one`: each launch is
  // submitted by itself. `forms`: spellings of operations other than the dialect's first.
  std::unique_ptr<runtime::Module> load(std::span<const ir::Kernel> of, bool one_by_one,
                                        std::vector<hwdesc::NamedText> forms) const;
  // The same for lanes of another width than the device's.
  std::unique_ptr<runtime::Module> load_for(const runtime::DeviceInfo& shape,
                                            std::span<const ir::Kernel> of,
                                            std::vector<hwdesc::NamedText> forms) const;
};

// Every kernel once, with no work to do: drivers defer a part of compiling to the first launch and
// cache its result for later processes.
void launch_all(runtime::Module& module, const std::vector<ir::Kernel>& kernels);

// What the device says of itself, as facts of the journal.
void send_facts(const runtime::DeviceInfo& info, const Send& send);

// Why a device could not be opened, through the pipe of a worker.
void send_not_opened(const Diags& why, const Send& send);
Diags not_opened(const Observations& said);  // empty: it was opened

}  // namespace assay::probe
