// From a multiply-add on a vector in memory to the next one on the same vector: store forwarding
// and the operation. Programs that keep partial sums in memory wait for it.
//
// update_<lanes>: passes over n vectors, each loaded, multiplied, added to and stored. With one
// vector, each pass depends on the one before. n is a parameter, so that no compiler keeps the
// vector in a register.
#pragma once

#include <string>
#include <vector>

#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr int64_t kMaxUpdatedVectors = 256;  // vectors

std::string update_name(int lanes);
void add_update_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);

}  // namespace assay::probe
