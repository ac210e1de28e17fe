// Loop kernels -> machine code. Cubins are cached under the hash of source, flags, NVRTC's version
// and architecture; only kernels that are not in the cache are compiled.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "codegen/dialect.h"
#include "ir/kernel.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/device.h"
#include "runtime/kernel_cache.h"

namespace assay::runtime::cuda {

struct BuiltKernel {
  std::filesystem::path cubin;
  std::string entry;
};

struct Build {
  std::vector<BuiltKernel> kernels;  // as given
  double seconds = 0;                // 0: everything came from the cache
};

struct BuildRequest {
  std::span<const ir::Kernel> kernels;
  const codegen::Dialect& dialect;
  const LoadOptions& options;
  int architecture = 0;  // 80: sm_80
  int threads = 1;       // of a wave
};

// Needs no device. Errors: no NVRTC; what the dialect can not spell; a kernel that does not compile
// (the log, with file and line of its source, which is saved in the cache's folder); a cache that
// can not be written; cancelled.
Result<Build> build(const BuildRequest& request, KernelCache& cache);

// One kernel that runs schedules of several.
struct BuiltSchedule {
  BuiltKernel kernel;
  std::vector<int> numbers;  // of each of them in its table
  double seconds = 0;        // 0: it came from the cache
};

// `resident` groups of it are on each unit. Errors: as build().
Result<BuiltSchedule> build_schedule(const BuildRequest& request, int resident, KernelCache& cache);
using ScheduleBuilder =
    std::function<Result<BuiltSchedule>(std::span<const ir::Kernel> kernels, int resident)>;

}  // namespace assay::runtime::cuda
