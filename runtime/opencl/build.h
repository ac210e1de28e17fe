// Loop kernels -> OpenCL programs. What was built is kept as the driver's binary, under the hash of
// source, options and driver; only kernels that are not in the cache are compiled. A sequence is
// kept under the hash of all that is in it.
#pragma once

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
  cl_kernel entry = nullptr;     // its own, or the sequence that holds it
  int number = 0;                // in the sequence
  cl_program program = nullptr;  // that it is of,
  std::string name = {};         // and its name there
};

struct Build {
  std::vector<Owned<cl_program>> programs;
  std::vector<Owned<cl_kernel>> entries;
  std::vector<BuiltKernel> kernels;  // as given
  double seconds = 0;                // 0: everything came from the cache
};

struct BuildRequest {
  std::span<const ir::Kernel> kernels;
  const codegen::Dialect& dialect;
  const Session& session;
  const LoadOptions& options;
  int threads = 1;         // of a wave, where lanes are threads
  bool sequences = false;  // kernels that run through launches, instead of one for each
};

// Errors: what the dialect can not spell; a kernel the driver does not build (its log, with the
// file and line of the kernel's source, which is kept beside the cache); cancelled.
Result<Build> build(const BuildRequest& request, KernelCache& cache);

}  // namespace assay::runtime::opencl
