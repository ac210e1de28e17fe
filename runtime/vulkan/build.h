// Loop kernels -> compute pipelines. SPIR-V is cached under the hash of source, compiler and
// device. The driver's pipeline cache is stored under the hash of all kernels that are built
// together.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codegen/dialect.h"
#include "ir/kernel.h"
#include "runtime/device.h"
#include "runtime/kernel_cache.h"
#include "runtime/vulkan/session.h"

namespace assay::runtime::vulkan {

struct Pipeline {
  Owned<VkDescriptorSetLayout> set;  // binding 0: the report; 1 + i: argument i
  Owned<VkPipelineLayout> layout;
  Owned<VkPipeline> pipeline;
};

// How an argument is bound.
VkDescriptorType descriptor_of(const ir::Buffer& argument);

struct Build {
  std::vector<std::shared_ptr<const Pipeline>> kernels;  // as given; equal kernels share one
  double seconds = 0;                                    // 0: everything came from the cache
};

struct BuildRequest {
  std::span<const ir::Kernel> kernels;
  const codegen::Dialect& dialect;
  const Session& session;
  const LoadOptions& options;
  int threads = 1;  // of a wave
};

// Push constants of a launch (the dialect's `Launch`). Every device supports 128 bytes.
struct PushConstants {
  static constexpr int kArguments = 29;
  int32_t first = 0;            // first group of the dispatch
  int32_t number = 0;           // of the launch, from 1
  int32_t zero = 0;             // a zero that compilers can not know
  int32_t at[kArguments] = {};  // element of its binding at which each argument begins
};
static_assert(sizeof(PushConstants) == 128);

// Errors: what the dialect can not spell; a kernel that does not compile, or that the driver does
// not build (the log, with file and line of the kernel's source, which is saved in the cache's
// folder); cancelled.
Result<Build> build(const BuildRequest& request, KernelCache& cache);

}  // namespace assay::runtime::vulkan
