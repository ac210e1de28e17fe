// Simulates launches of threads between two barriers, whose groups run beside each other.
#pragma once

#include <span>

#include "runtime/virtual/streams.h"

namespace assay::runtime::simulated {

// Groups are dealt in the order of the jobs, each to the unit with the fewest that has room for it.
// `merged`: as one launch, so that each group takes what the hungriest needs. Else launches: each
// one's groups may start `beside` ticks after those of the one before.
Outcome simulate_phase(Machine& machine, std::span<const Job> jobs, bool merged, double beside);

}  // namespace assay::runtime::simulated
