// What a profile inherits (`extends`) and is probably wrong for the chip it describes, because the
// profile changes something that the inherited value depends on.
//
//   changed                 in doubt
//   clocks.<core>.max       absolute rates, bandwidths and latencies on the chip, sustained clocks
//   clocks.memory.max       latency and bandwidths of the device's far memory
//   topology.*.count        bandwidths of shared caches, by active units of shared memory,
//                           sustained clocks
//   memory.*.bandwidth.read the other bandwidths and latencies of that memory, where it is far
//   memory.*.capacity       knee, hit curves, latency and ways of that cache
//   power.cap               sustained clocks
//   class                   latencies of operations, energies, launches
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
