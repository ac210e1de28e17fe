// Atomic additions (ir::AtomicAdd): their addresses, and the names of their kernels.
//
//   same      all lanes add to one address: the rate of one address;
//   distinct  each lane has an address of its own: the throughput of the pipe;
//   chain     the same, and the value returned is added next: latency;
//   group_    the same in the scratchpad.
//
// Kernels store the value at the first address, so that lost additions are noticed.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr std::array<const char*, 3> kAtomicKinds = {"same", "distinct", "chain"};
inline constexpr int kAtomicSteps = 16;  // of an iteration

// Each lane of a thread group adds for itself; a core has one such instruction, for one number.
inline int atomic_lanes(int lanes, bool threads) { return threads ? lanes : 1; }
inline std::string atomic_kernel(const std::string& kind, int lanes) {
  return "atomic_" + kind + "_" + std::to_string(lanes);
}

}  // namespace assay::probe
