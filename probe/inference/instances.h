// How many instances of a cache there are, where several units share one but not all of them the
// same: halves of a chip, chiplets.
//
// Some units, spread over all of them, chase concurrently, each through bytes of its own that its
// private caches do not hold, T bytes in total. With k caches of C bytes
//
//     T < k C   they are as fast as one alone;   T > k C   as slow as what lies beyond
//
// At T = 1.6 C, 3.2 C, 6.4 C, the largest one that is still fast says k = 2, 4, 8; none: 1. Between
// the two speeds the count is unknown.
#pragma once

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

inline constexpr double kHitsInTwo = 1.6;  // T / C that two hold and one does not

// Of cache `level` (a position in known.levels); nullopt: not measured, or unclear.
std::optional<int> instances_of(const Observations& all, const Known& known, size_t level);

// Divides the bandwidths of caches with several instances among these, and the units among what
// shares one ("part").
void divide_among_instances(const Observations& all, const Known& known, hwdesc::Profile& to);

}  // namespace assay::probe
