// Does a kernel language's compiler make vectors of scalar operations on neighbouring elements?
//
// neighbours_<n>: the same multiply-adds of elements, always kNeighbours of them in a step, in runs of n that lie side by
// side. A compiler that joins operations needs fewer instructions for longer runs; one that does not, as many.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/kernels.h"
#include "probe/observation.h"

namespace assay::probe {

inline constexpr int kNeighbours = 16;                            // elements of a step
inline constexpr std::array<int, 5> kNeighbourRuns = {1, 2, 4, 8, 16};     // of so many
inline constexpr int64_t kNeighbourSteps = 16;                    // per iteration

std::string neighbours_name(int run);
void add_neighbours_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);

// Lanes of the longest vectors that it makes, at most `most`; 1: none. Unknown: not measured.
hwdesc::Value<hwdesc::Count> joined_lanes(const Observations& all, int most);

}  // namespace assay::probe
