// Additions in one step (ir::AtomicAdd): how they are spread out, and the names of their kernels.
//
//   same    everyone adds to one number: how fast one address is handed on
//   apart   each lane has a number of its own: how fast the pipe is
//   chain   the same, and what is found there is added next: latency
//   group_  the same in the memory of a group's own
//
// Kernels store what became of the first number, so that nothing can be lost unnoticed.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr std::array<const char*, 3> kAtomicKinds = {"same", "apart", "chain"};
inline constexpr int kAtomicSteps = 16;  // of an iteration

// Lanes of threads add each for itself; a core has one such instruction, for one number.
inline int atomic_lanes(int lanes, bool threads) { return threads ? lanes : 1; }
inline std::string atomic_kernel(const std::string& kind, int lanes) {
  return "atomic_" + kind + "_" + std::to_string(lanes);
}

}  // namespace assay::probe
