// Launches of a phase that are one launch, whose groups are those of all of them (the dialect's
// `merged`).
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "runtime/opencl/buffers.h"
#include "runtime/opencl/build.h"

namespace assay::runtime::opencl {

class Merged {  // invariant: refers to parts of a module that outlive it
 public:
  static constexpr size_t kBuffers = 8;  // that a merged kernel has as arguments

  // `threads`: of a wave; `table`: room for the tables of a run.
  Merged(const Session& session, const Buffers& buffers, const std::vector<ir::Kernel>& kernels,
         int threads, MergedBuilder build, Buffer table)
      : session_(session),
        buffers_(buffers),
        kernels_(kernels),
        threads_(threads),
        build_(std::move(build)),
        table_(std::move(table)) {}

  struct Call {  // a launch
    const BuiltKernel* kernel = nullptr;
    size_t threads = 1, group_bytes = 0, groups = 0;
    cl_long place = 0;  // of its table, in words
    cl_int rows = 0, stride = 0;
    std::array<cl_mem, kBuffers> buffers{};
  };

  // Launches of as many threads, on kBuffers buffers at most, are one. Alone stay those whose
  // arguments are images or constants.
  std::vector<std::vector<int>> parts_of(std::span<const Launch> launches,
                                         std::span<const int> phase) const;

  // Adds the calls of a part, and their tables to `words`. Errors: those of build().
  Diags add(std::span<const Launch> launches, std::span<const int> part, std::vector<Call>& calls,
            std::vector<cl_long>& words);

  // The tables that calls read. Errors: the driver's.
  Diags upload(std::span<const cl_long> words);

  // Sets the arguments of the call's kernel, or of a copy of it.
  cl_int set_arguments(const Call& call, cl_kernel kernel) const;

  double build_seconds() const { return build_seconds_; }  // of all so far

 private:
  const ir::Kernel& kernel_of(const Launch& launch) const {
    return kernels_[static_cast<size_t>(launch.kernel)];
  }
  std::vector<cl_mem> buffers_of(std::span<const Launch> launches, std::span<const int> part) const;

  const Session& session_;
  const Buffers& buffers_;
  const std::vector<ir::Kernel>& kernels_;
  const int threads_;
  const MergedBuilder build_;
  Buffer table_;
  std::map<std::vector<int>, Build> built_;  // by positions in kernels_, ascending
  double build_seconds_ = 0;
};

}  // namespace assay::runtime::opencl
