// What launches ask for, held against kernels and buffers before anything runs. Shared by the devices that hand
// launches to a driver.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/device.h"

namespace assay::runtime {

struct GroupRange {
  int64_t begin = 0, end = 0;
};

// The groups of a launch in as few ranges as its queues make, in order: for drivers that deal groups out themselves.
std::vector<GroupRange> ranges_of(const Launch& launch, int64_t groups);

// Errors: kernels and buffers that are not there, arguments that do not fit, queues of groups that are not there.
Diags check_launches(std::span<const Launch> launches, std::span<const ir::Kernel> kernels, size_t buffers,
                     const std::function<int64_t(int buffer)>& bytes_of);

}  // namespace assay::runtime
