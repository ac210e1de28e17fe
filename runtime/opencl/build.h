// Loop kernels -> OpenCL programs. The driver's binaries are cached under the hash of source,
// options and driver, a sequence under the hash of all its kernels, a merged kernel under that of
// its text. Only kernels that are not in the cache are compiled.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "codegen/dialect.h"
#include "ir/kernel.h"
#include "runtime/device.h"
#include "runtime/kernel_cache.h"
#include "runtime/opencl/session.h"

namespace assay::runtime::opencl {

struct BuiltKernel {
  cl_kernel entry = nullptr;     // its own, or the one that holds it
  int number = 0;                // in that one
  cl_program program = nullptr;  // of `entry`
  std::string name = {};         // of `entry` in the program
  cl_kernel queues = nullptr;    // of a sequence: the kernel that runs schedules
};

struct Build {
  std::vector<Owned<cl_program>> programs;
  std::vector<Owned<cl_kernel>> entries;
  std::vector<BuiltKernel> kernels;  // as given
  double seconds = 0;                // 0: everything came from the cache
};

// What is built of kernels: a kernel each, one that executes many launches in order, or one that
// runs groups of several launches side by side.
enum class Form { each, sequence, merged };

struct BuildRequest {
  std::span<const ir::Kernel> kernels;
  const codegen::Dialect& dialect;
  const Session& session;
  const LoadOptions& options;
  int threads = 1;  // of a wave, where lanes are threads
  Form form = Form::each;
};

// Errors: what the dialect can not spell; a kernel that the driver does not build (its log, with
// file and line of the kernel's source, which is saved in the cache's folder); cancelled.
Result<Build> build(const BuildRequest& request, KernelCache& cache);

using MergedBuilder = std::function<Result<Build>(std::span<const ir::Kernel> kernels)>;

}  // namespace assay::runtime::opencl
