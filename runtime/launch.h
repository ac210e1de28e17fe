// Checks launches against kernels and buffers, and merges their groups into ranges. Shared by the
// devices whose drivers schedule groups.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/device.h"

namespace assay::runtime {

// All errors, each with its launch: unknown kernels, buffers and groups, arguments that do not fit.
// `bytes_of`: size of a buffer, whose number is below `buffers`.
Diags check_launches(std::span<const Launch> launches, std::span<const ir::Kernel> kernels,
                     size_t buffers, const std::function<int64_t(int)>& bytes_of);

// Arguments must be images exactly where kernels read images, with the same texels and row length.
// `shape_of`: of a buffer; nullptr: it is no image. Pre: check_launches() found no error.
Diags check_images(std::span<const Launch> launches, std::span<const ir::Kernel> kernels,
                   const std::function<const ImageShape*(int)>& shape_of);

struct GroupRange {
  int64_t begin = 0, end = 0;
  bool operator==(const GroupRange&) const = default;
};

// The groups of a launch, with adjacent ranges merged.
std::vector<GroupRange> ranges_of(const Launch& launch, int64_t groups);

// Calls `once` warm_up + repeat times, in a warm-up without times. Errors: those of `once`;
// cancelled.
Result<RunTimes> time_repeats(const RunOptions& options,
                              const std::function<Diags(RunTimes* times)>& once);

// Runs a recording warm_up + repeat times; `total` gets the host's seconds of each repeat. Errors:
// those of `once`; cancelled.
Result<RunTimes> time_recorded(const RunOptions& options, const std::function<Diags()>& once);

}  // namespace assay::runtime
