// Checked launches of a module, resolved to functions, pointers and group ranges per unit, and the
// loop that all units run over them.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "runtime/cpu/library.h"
#include "runtime/memory.h"
#include "runtime/cpu/pool.h"
#include "runtime/device.h"

namespace assay::runtime::cpu {

struct LoadedKernel {
  ir::Kernel kernel;
  Entry entry = nullptr;
};

struct GroupRange {
  int64_t begin = 0, end = 0;
};

struct ReadyLaunch {
  Entry entry = nullptr;
  std::vector<void*> arguments;
  std::vector<std::vector<GroupRange>> of_unit;
};

struct ReadyLaunches {
  std::vector<ReadyLaunch> launches;
  int units = 1;  // units 0..units-1 take part
};

// Errors, all of them: no such kernel or buffer, an argument that does not lie in its buffer, a
// queue of a unit or of groups that there are not.
Result<ReadyLaunches> resolve(std::span<const Launch> launches,
                              std::span<const LoadedKernel> kernels,
                              std::span<const Memory> buffers, int units);

// A barrier follows every launch. Every unit notes when it arrives there; a boundary is the latest
// arrival, a step's time is from one boundary to the next, so that steps add up to the total.
// Errors: cancelled.
Result<RunTimes> run_launches(Pool& pool, const ReadyLaunches& ready,
                              std::span<const Memory> scratch, const RunOptions& options);

}  // namespace assay::runtime::cpu
