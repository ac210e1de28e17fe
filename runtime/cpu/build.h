// Loop kernels -> functions in shared objects. Only kernels that are not in the cache are compiled,
// several per translation unit, with one compiler process per unit at a time.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "codegen/dialect.h"
#include "ir/kernel.h"
#include "runtime/cpu/compiler.h"
#include "runtime/device.h"
#include "runtime/kernel_cache.h"
#include "support/result.h"

namespace assay::runtime::cpu {

struct BuiltKernel {
  std::filesystem::path file;
  std::string symbol;  // void(void* const* args, void* scratch, int64_t begin, int64_t end)
  int64_t stack_bytes = -1;
};

struct Build {
  std::vector<BuiltKernel> kernels;  // as given
  double seconds = 0;                // 0: everything came from the cache
};

struct BuildRequest {
  std::span<const ir::Kernel> kernels;
  const codegen::Dialect& dialect;
  const Compiler& compiler;
  std::string processor;  // fingerprint of what -march=native means
  int parallel = 1;
  const LoadOptions& options;
};

// Errors: what the dialect can not spell; a kernel that does not compile (its name, the compiler's
// log); cancelled. What was compiled before a failure stays in the cache.
Result<Build> build(const BuildRequest& request, KernelCache& cache);

}  // namespace assay::runtime::cpu
