#include "runtime/cuda/function.h"

#include <algorithm>

namespace assay::runtime::cuda {
namespace {

constexpr int64_t kDefaultGroupMemory = 48 * 1024;  // a kernel that needs more has to opt in

}  // namespace

bool has_constants(const ir::Kernel& kernel) {
  return std::ranges::any_of(kernel.buffers,
                             [](const ir::Buffer& b) { return b.space == ir::Space::constant; });
}

int registers_of(const Api& api, Function function) {
  int registers = 0;
  return api.function_attribute(&registers, kRegisters, function) == kSuccess ? registers : -1;
}

int share_of_groups(const Limits& limits, int64_t group_bytes, int64_t groups) {
  if (limits.unit_bytes <= 0) return -1;
  const int64_t bytes = groups * (group_bytes + limits.reserved_bytes);
  return static_cast<int>(
      std::min<int64_t>(100, (100 * bytes + limits.unit_bytes - 1) / limits.unit_bytes));
}

int group_memory_share(const Limits& limits, int64_t group_bytes, int64_t threads, int registers) {
  if (limits.unit_bytes <= 0 || threads <= 0) return -1;
  int64_t groups = std::max<int64_t>(1, limits.unit_threads / threads);
  if (limits.unit_groups > 0) groups = std::min<int64_t>(groups, limits.unit_groups);
  if (registers > 0)
    groups = std::min(groups, std::max<int64_t>(1, limits.unit_registers / (registers * threads)));
  return share_of_groups(limits, group_bytes, groups);
}

Status set_group_memory(const Api& api, Function function, int64_t group_bytes, int share) {
  if (group_bytes > kDefaultGroupMemory)
    if (const Status s =
            api.set_function_attribute(function, kMostGroupMemory, static_cast<int>(group_bytes)))
      return s;
  // A hint: older drivers do not have it, and some chips have no carve-out.
  if (share >= 0) api.set_function_attribute(function, kGroupMemoryShare, share);
  return kSuccess;
}

}  // namespace assay::runtime::cuda
