// Launches enqueued in one stream, step after step, with an event after each. A step is a launch,
// or a phase, whose launches are one where they can be (merged.h).
#pragma once

#include <span>
#include <vector>

#include "runtime/cuda/buffers.h"
#include "runtime/cuda/merged.h"
#include "runtime/device.h"

namespace assay::runtime::cuda {

struct Constant {  // an argument that is a variable of the kernel's code
  size_t argument = 0;
  Address address = 0;  // where the kernel reads it
  size_t bytes = 0;
};

struct Kernels {  // invariant: entry i of each list is of kernel i, once it is loaded
  const std::vector<ir::Kernel> definitions;
  const int threads = 1;  // of a wave
  std::vector<Function> functions = {};
  std::vector<std::vector<Constant>> constants = {};
};

class Steps {  // invariant: refers to parts of a module that outlive it
 public:
  Steps(const Session& session, const Buffers& buffers, const Kernels& kernels,
        CombinedBuilder build)
      : session_(session),
        buffers_(buffers),
        kernels_(kernels),
        merged_(session, buffers, kernels.definitions, kernels.threads, std::move(build)) {}

  // Builds the merged kernels of the phases. Errors: those of Merged::add, with the phase.
  Diags prepare(std::span<const Launch> launches, const RunOptions& options);

  // Errors: those of prepare(); what the driver says, with the launch or phase; cancelled. Pre:
  // check_launches() and check_phases_of() find no error.
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options);

  double build_seconds() const { return merged_.build_seconds(); }

 private:
  struct Piece {
    int launch = -1;  // -1: a merged one
    Merged::Call call{};
  };
  struct Work {
    std::span<const Launch> launches;
    const RunOptions& options;
    std::vector<std::vector<Piece>> steps{};
    std::vector<int64_t> words{};  // the tables of merged launches
    Owned<Address> table{};        // where they lie
  };
  Result<Work> work_of(std::span<const Launch> launches, const RunOptions& options);
  Diags upload(Work& work) const;
  Diags make_events(size_t count);
  Diags run_once(const Work& work, RunTimes* times);
  Diags read_times(const Work& work, RunTimes& times) const;
  Status capture(const Work& work, Graph& graph, const char*& call, size_t& step);
  Result<RunTimes> run_recorded(const Work& work);
  bool begins_with_constants(const Work& work, size_t step) const;
  Status fill_constants(const Launch& launch);
  Status enqueue(const Launch& launch);
  Status enqueue(const Work& work, size_t step, const char*& call);
  Diag failure_at(const Work& work, size_t step, const char* call, Status status) const;

  const Session& session_;
  const Buffers& buffers_;
  const Kernels& kernels_;
  Merged merged_;
  std::vector<Owned<Event>>
      events_;  // one before the first step; per step: its first constants filled, and finished
};

}  // namespace assay::runtime::cuda
