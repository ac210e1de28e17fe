// Launches as drivers take them: checked against kernels and buffers, and the groups they hold.
// Shared by the devices whose drivers deal groups out.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/device.h"

namespace assay::runtime {

// Every fault, with its launch: kernels, buffers and groups that there are not, arguments that do
// not fit. `bytes_of`: of a buffer below `buffers`.
Diags check_launches(std::span<const Launch> launches, std::span<const ir::Kernel> kernels,
                     size_t buffers, const std::function<int64_t(int)>& bytes_of);

// Images where kernels read images, of the texels they read, in rows as long as theirs, and nowhere
// else. `shape_of`: of a buffer; nullptr: it is no image. Launches have been checked.
Diags check_images(std::span<const Launch> launches, std::span<const ir::Kernel> kernels,
                   const std::function<const ImageShape*(int)>& shape_of);

struct GroupRange {
  int64_t begin = 0, end = 0;
  bool operator==(const GroupRange&) const = default;
};

// The groups of a launch in as few ranges as they make.
std::vector<GroupRange> ranges_of(const Launch& launch, int64_t groups);

// Has a recording done as often as asked: of each time that counts the host's seconds, in `total`.
// Errors: those of `once`; cancelled.
Result<RunTimes> time_recorded(const RunOptions& options, const std::function<Diags()>& once);

}  // namespace assay::runtime
