// How much a cache holds, told from the best of many looks at it.
//
// A look is one block of a chase. Disturbance is one-sided: a neighbour takes lines or a part of
// the cache, and nothing makes it larger. So the best look at a footprint, or at a larger one,
// counts. With `near` and `far` the latencies of the level and of the next one, a look of t ticks
// hits
//
//     h = (far - t) / (far - near)
//
//   least:  the most bytes W h that any look hit: a pass hits no more than the cache holds,
//   whatever
//           it replaces
//   most:   no look at more than this hits kFewest. Where pages lie at random, a cache of w ways
//   with
//           LRU hits P(Poisson(w) < w) of a footprint of its size: 43 % to 47 % for 4 to 16 ways.
//           Where they are consecutive, it hits more.
//
// Ticks are those of the clock beside the look, or of the clock just before or after it if that is
// faster: a disturbed clock would make a look seem better than it was. The next level has a latency
// in ticks or in seconds: where the clock changes, the fewer hits count.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probe/inference/knee.h"
#include "probe/observation.h"

namespace assay::probe {

struct Look {
  double bytes = 0, ticks = 0;
  size_t visit = 0;  // looks of one visit were taken one after the other
  double hz = 1;     // of the ticks; 1: no clock is known, and ticks are seconds
};

struct Held {
  double least = 0, half = 0, most = 0;  // bytes; `half`: where half of them hit
  // Several visits looked at it, and none saw less of it.
  bool alike = false;
};

// Hits of a footprint at most, from which on it is larger than the cache.
inline constexpr double kFewest = 0.4;

// With those clocks for the blocks of the chase.
Observations with_fastest_clocks(Observations all);

// All looks of the chase, in the order they were taken.
std::vector<Look> looks_of(const Observations& all);

// Of the level `near`, before `far`. nullopt: their footprints were not looked at, or are as fast.
std::optional<Held> held_by(std::span<const Look> looks, const Plateau& near, const Plateau& far);

}  // namespace assay::probe
