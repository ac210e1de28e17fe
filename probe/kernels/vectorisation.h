// Does a kernel language's compiler make vectors of scalar operations on neighbouring elements?
//
// neighbours_<n>: kNeighbours scalar multiply-adds a step, of runs of n neighbouring elements. A
// compiler with SLP vectorisation needs fewer instructions for longer runs.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr int kNeighbours = 16;                                  // elements of a step
inline constexpr std::array<int, 5> kNeighbourRuns = {1, 2, 4, 8, 16};  // elements of a run
inline constexpr int64_t kNeighbourSteps = 16;                          // per iteration

// Where lanes are threads: words_<n>, one word of the scratchpad a step, at a stride of n words, in
// a loop that is unrolled by sixteen; unroll, one load of a vector each.
inline constexpr std::array<int, 2> kWordSteps = {1, 5};
inline constexpr int64_t kWordUnroll = 32, kLoadUnroll = 32;
inline constexpr int kWordsUnrolled = 16;

std::string words_name(int step);
inline constexpr const char* kUnrollName = "unroll";
std::string neighbours_name(int run);
void add_neighbours_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);

}  // namespace assay::probe
