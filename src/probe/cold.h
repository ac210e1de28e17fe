// What a step takes longer whose code a unit's own caches have lost to other things since it last ran.
#pragma once

#include <vector>

namespace assay::probe {

inline constexpr int kShortCode = 256;  // steps: what runs between, where nothing is to be driven out

std::vector<int> cold_steps();          // of straight-line code; each takes as long as one iteration

}  // namespace assay::probe
