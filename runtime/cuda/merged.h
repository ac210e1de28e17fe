// Launches of a phase that are one launch, whose blocks are those of all of them (the dialect's
// `merged`).
#pragma once

#include <map>
#include <span>
#include <vector>

#include "runtime/cuda/buffers.h"
#include "runtime/cuda/build.h"
#include "runtime/device.h"

namespace assay::runtime::cuda {

class Merged {  // invariant: refers to parts of a module that outlive it
 public:
  // `threads`: of a wave.
  Merged(const Session& session, const Buffers& buffers, const std::vector<ir::Kernel>& kernels,
         int threads, CombinedBuilder build)
      : session_(session),
        buffers_(buffers),
        kernels_(kernels),
        threads_(threads),
        build_(std::move(build)) {}

  struct Call {  // a launch
    Function function = nullptr;
    unsigned threads = 1, group_bytes = 0, groups = 0;
    size_t place = 0;  // of its table, in words
    int64_t rows = 0, stride = 0;
  };

  // Alone stay launches whose constants are filled before them, and those of blocks that are no
  // whole waves of the driver beside others.
  std::vector<std::vector<int>> parts_of(std::span<const Launch> launches,
                                         std::span<const int> phase) const;

  // Adds the calls of a part, and their tables to `words`. Errors: those of build_merged(); code
  // that the driver rejects.
  Diags add(std::span<const Launch> launches, std::span<const int> part, std::vector<Call>& calls,
            std::vector<int64_t>& words);

  // `table`: where the words lie.
  Status launch(const Call& call, Address table) const;

  double build_seconds() const { return build_seconds_; }  // of all so far

 private:
  struct Ready {               // a merged kernel
    std::vector<int> numbers;  // what its table calls each of its kernels
    Owned<Code> code{};
    Function function = nullptr;
    int64_t threads = 1, group_bytes = 0;
  };
  Result<Ready> load(std::span<const int> kernels);

  const Session& session_;
  const Buffers& buffers_;
  const std::vector<ir::Kernel>& kernels_;
  const int threads_;
  const CombinedBuilder build_;
  std::map<std::vector<int>, Ready> ready_;  // by positions in kernels_, ascending
  double build_seconds_ = 0;
};

}  // namespace assay::runtime::cuda
