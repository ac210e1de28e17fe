// Straight-line code of growing size: a loop whose body has so many steps in independent chains.
#pragma once

#include <string>
#include <vector>

#include "probe/kernels/kernels.h"

namespace assay::probe {

std::vector<int> straight_line_steps(const KernelShape& shape);
std::string straight_line_name(int steps);
std::vector<int>
cold_code_steps();  // of code that runs once, cached or evicted (experiments/cold_code.cpp)
// Steps of other code, which runs in between where nothing is to be evicted.
inline constexpr int kOtherCodeSteps = 256;
// Of threads: not among all_kernels.
ir::Kernel straight_line_kernel(int steps, bool threads, int lanes);

}  // namespace assay::probe
