// One group chases while all others stream through the same level (inference/loaded_latency.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr int kLoadedHops = 2;  // per iteration of the chase
inline constexpr int kRestSteps = 16;  // additions per iteration of a rest

//   loaded_<w>  group 0: `hops` iterations of the chase. The others: passes over blocks, with
//               `rest` iterations of dependent additions after every few vectors. Parameters
//               {hops, passes, blocks, rest, place of the first block of group 1, of group 2, ...}
std::string loaded_name(int lanes);
int64_t loaded_parts(int lanes);  // rests in a block
void add_loaded_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);

}  // namespace assay::probe
