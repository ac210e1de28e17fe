// Straight-line code of growing size: a loop whose body has so many steps, all independent of most others.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace assay::probe {

std::vector<int> straight_steps(bool threads);
std::string straight_name(int steps);
ir::Kernel straight_kernel(int steps, bool threads, int lanes);  // of threads: not among all_kernels

}  // namespace assay::probe
