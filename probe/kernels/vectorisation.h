// Does a kernel language's compiler make vectors of scalar operations on neighbouring elements?
//
// neighbours_<n>: the same multiply-adds of elements, always kNeighbours of them in a step, in runs
// of n that lie side by side. A compiler that joins operations needs fewer instructions for longer
// runs; one that does not, as many.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr int kNeighbours = 16;                                  // elements of a step
inline constexpr std::array<int, 5> kNeighbourRuns = {1, 2, 4, 8, 16};  // of so many
inline constexpr int64_t kNeighbourSteps = 16;                          // per iteration

// Where lanes are threads: words_<n>, one word of a group's own memory a step of a loop that is
// unrolled by sixteen, n words from step to step; turns, one load of a vector each.
inline constexpr std::array<int, 2> kWordSteps = {1, 5};
inline constexpr int64_t kWordUnroll = 32, kLoadUnroll = 32;
inline constexpr int kWordsUnrolled = 16;

std::string words_name(int step);
inline constexpr const char* kUnrollName = "turns";
std::string neighbours_name(int run);
void add_neighbours_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);

}  // namespace assay::probe
