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

// One kernel made of several.
struct CombinedKernel {
  BuiltKernel kernel;
  std::vector<int> numbers;  // of each of them in its table
  double seconds = 0;        // 0: it came from the cache
};
using CombinedBuilder = std::function<Result<CombinedKernel>(std::span<const ir::Kernel> kernels)>;

// It runs schedules of them, `resident` groups of it on each unit. Errors: as build().
Result<CombinedKernel> build_schedule(const BuildRequest& request, int resident,
                                      KernelCache& cache);
using ScheduleBuilder =
    std::function<Result<CombinedKernel>(std::span<const ir::Kernel> kernels, int resident)>;

// It runs groups of them side by side. Errors: as build().
Result<CombinedKernel> build_merged(const BuildRequest& request, KernelCache& cache);

}  // namespace assay::runtime::cuda
