// What one load or store of a wave costs a memory, by the addresses of its lanes.
//
// A scratchpad serves one word of each bank a cycle, to any number of lanes. A load of several
// words a lane is served in as many phases, each of a part of the lanes. Where each lane shares its
// address with a neighbour, two phases are one. A cache serves one line a cycle.
// Sources: banks and broadcasts as in the CUDA C++ Programming Guide, "Shared Memory"; phases of
// wide loads and their merging as measured by KernelTuner's GEMM on four chips.
#pragma once

#include <cstdint>
#include <span>

namespace assay::model {

// Bytes of a thread's widest load or store.
inline constexpr double kWidestAccess = 16;

// Cycles of a banked scratchpad. `words`: each lane's first word, in words of a bank; `width`:
// words of a lane, a power of two; `banks`: of one word each. Pre: words is not empty.
double bank_cycles(std::span<const int64_t> words, int width, int banks);

// Cycles of a cache. `bytes`: each lane's first byte; `width`: bytes of a lane, at most `phase`
// bytes of a phase are asked for at once. Pre: bytes is not empty.
double line_cycles(std::span<const int64_t> bytes, int width, int64_t line, int64_t phase);

}  // namespace assay::model
