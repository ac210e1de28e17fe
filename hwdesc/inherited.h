// What a profile inherits (`extends`) and is probably wrong for the chip it describes, because the
// profile changes something that the inherited value depends on.
//
// - A core clock: absolute rates, bandwidths and latencies on the chip, sustained clocks.
// - The memory's clock: latency and bandwidths of the device's far memory.
// - The number of units: bandwidths of shared caches, by active units, and sustained clocks.
// - Far memory's read bandwidth: its other bandwidths and its latency.
// - A cache's capacity: its knee, hit curves, latency and ways.
// - The power cap: sustained clocks. The class: latencies of operations, energies, launches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hwdesc/check.h"

namespace assay::hwdesc {

// `given`: whether the child's own text gives a value at this path. Notes, in table order.
std::vector<Finding> doubts_of_inherited(const Profile& parent, const Profile& child,
                                         const std::function<bool(const std::string&)>& given);

}  // namespace assay::hwdesc
