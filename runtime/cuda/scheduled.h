// Units that work through queues of their own in one kernel whose groups stay (the dialect's
// `queues`).
//
// A unit is `resident` blocks of the grid, numbered one after the other. The driver proves that
// they fit (occupancy) and promises that all run at once (cooperative launch); on which
// multiprocessor they are is its choice, and changes no result.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/cuda/buffers.h"
#include "runtime/cuda/build.h"
#include "runtime/device.h"
#include "runtime/queue_table.h"

namespace assay::runtime::cuda {

class Scheduled {  // invariant: refers to parts of a module that outlive it
 public:
  // `reports`: of each kernel, once it is loaded; `threads`: of a wave.
  Scheduled(const Session& session, const Buffers& buffers, const std::vector<ir::Kernel>& kernels,
            const std::vector<KernelReport>& reports, int threads, ScheduleBuilder build)
      : session_(session),
        buffers_(buffers),
        kernels_(kernels),
        reports_(reports),
        threads_(threads),
        build_(std::move(build)) {}

  // Refused: constants, waves that are not whole, more resident groups than fit a unit. Errors: as
  // build_schedule(); code that the driver rejects. Pre: check_launches() found no error.
  Result<Refusal> prepare(std::span<const Launch> launches, int resident);

  // A launch for each repeat, whose total has its overhead. Errors: those of check_schedule() and
  // prepare(); a unit that waited too long for another one; what the driver says; cancelled.
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options);

  double build_seconds() const { return build_seconds_; }  // of all so far

 private:
  struct Ready {               // the kernel of a schedule
    std::vector<int> kernels;  // that it can run, as positions in kernels_, and
    std::vector<int> numbers;  // what its table calls them
    int resident = 1;
    Owned<Code> code{};
    Function function = nullptr;
    int64_t threads = 1, group_bytes = 0;
    Refusal refusal{};
  };
  struct Work;

  Refusal unsuitable(std::span<const int> kernels) const;
  Result<Ready> load(std::vector<int> kernels, int resident);
  Refusal too_few(const Ready& ready, int fitting) const;
  QueueTable table_of(std::span<const Launch> launches, const RunOptions& options) const;
  Result<Work> work_of(std::span<const Launch> launches, const RunOptions& options) const;
  Diags run_once(const Work& work, RunTimes* times) const;
  Status launch(const Work& work) const;
  Diags read_stamps(const Work& work, RunTimes& times) const;
  Diag failure_of(const char* call, Status status) const;

  const Session& session_;
  const Buffers& buffers_;
  const std::vector<ir::Kernel>& kernels_;
  const std::vector<KernelReport>& reports_;
  const int threads_;
  const ScheduleBuilder build_;
  std::optional<Ready> ready_;  // the last one asked for
  double build_seconds_ = 0;
};

}  // namespace assay::runtime::cuda
