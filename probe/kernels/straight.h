// Straight-line code of growing size: a loop whose body has so many steps, all independent of most
// others.
#pragma once

#include <string>
#include <vector>

#include "probe/kernels/kernels.h"

namespace assay::probe {

std::vector<int> straight_steps(const KernelShape& shape);
std::string straight_name(int steps);
std::vector<int>
cold_steps();  // of short steps' sizes, which run once, at hand or not (experiments/cold.cpp)
inline constexpr int kShortCode =
    256;  // steps, none of those: what runs between, where nothing is to be driven out
ir::Kernel straight_kernel(int steps, bool threads,
                           int lanes);  // of threads: not among all_kernels

}  // namespace assay::probe
