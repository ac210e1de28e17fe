// From a multiply-add on a vector in memory to the next one on the same vector: what a program
// waits for that keeps partial sums in memory and comes back to them.
//
// update_<lanes>: passes over n vectors, each loaded, multiplied, added to and stored. Of one
// vector, pass waits for pass; n is the launch's, so that no compiler keeps the vector in a
// register.
#pragma once

#include <string>
#include <vector>

#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr int64_t kMostUpdated = 256;  // vectors

std::string update_name(int lanes);
void add_update_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);

}  // namespace assay::probe
