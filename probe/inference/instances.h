// How many caches of a kind there are, where units share one but not all of them the same: halves
// of a chip, chiplets.
//
// Some units chase side by side, spread over all of them, each through bytes of its own that its
// own caches do not hold. Together they go through T bytes. With k caches of C bytes
//     T < k C   they are as fast as one alone,   T > k C   as slow as what lies beyond
// T = 1.6 C, 3.2 C, 6.4 C: the largest one that is still fast says k = 2, 4, 8; none: 1. In between
// nothing is told.
#pragma once

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

inline constexpr double kHitsInTwo = 1.6;  // T / C that two hold and one does not

// Of cache `level` (a position in known.levels); nullopt: not measured, or not told.
std::optional<int> instances_of(const Observations& all, const Known& known, size_t level);

// Divides what caches of several instances do together among these, and the units among what shares
// one ("part").
void divide_shared(const Observations& all, const Known& known, hwdesc::Profile& to);

}  // namespace assay::probe
