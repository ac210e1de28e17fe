// Which footprints show one level of memory and nothing else: well above what the level before
// holds, well inside its own knee.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probe/inference/knee.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

// Bytes per unit for level `i` of `levels` (not the last) when `units` share `sharers`-wise:
// the geometric middle of the previous capacity and 0.7 of this level's share, at most half of the
// knee. nullopt: the levels are too close together to tell this one apart.
std::optional<int64_t> footprint_within(const Levels& levels, size_t i, int sharers);

// As that, and one far into the level where there is room: prefetchers need their way, and some
// caches are read faster over long stretches.
std::vector<int64_t> footprints_within(const Levels& levels, size_t i, int sharers);

// Bytes per unit that leave each unit's own caches for what `units` share, where the shared levels
// are too close together to tell one from the next. nullopt: nothing is private, or the shared ones
// hold too little.
std::optional<int64_t> footprint_past_private(const Known& known, int units);

// Bytes that one unit chases through to see the latency of level `i`, not the last: the middle of
// its plateau, by the logarithm. Of what units share, a quarter of the way in: others use it too,
// and what lies farther in is soon driven out.
int64_t footprint_of_latency(const Known& known, size_t i);

// Bytes of each of `units` that stream through the last cache, which they share: between what
// leaves their own caches and half of what it was seen to hold; nullopt: no sweep, or no room.
std::optional<int64_t> footprint_streamed(const Known& known, int units);

// Which of `windows` side by side the g-th group reads, where units are dealt groups by turns:
// those of a unit have windows of their own, as long as there are enough. Who goes a little behind
// another finds what that has left in the unit's cache.
int64_t window_of_group(int64_t g, int units, int64_t windows);

// Bytes in total that no cache holds much of: eight times what the last one may hold, at least 64
// MiB, at most `most`.
int64_t footprint_beyond(const Known& known, int64_t most);

// Of each group of a sample of far memory at most: short samples escape interruptions.
inline constexpr int64_t kFarChunk = 4 << 20;

// A sample of far memory that writes so many times what the last cache holds is hardly faster for
// what that takes.
inline constexpr double kOutweighs = 8;

// Bytes of one buffer that all groups of a sample of far memory pass at most, together: the whole
// of a small one, else a part.
int64_t far_bytes_of_a_sample(int64_t buffer);
int64_t far_bytes_of_a_sample(const Observation& far);  // of the block's groups

// The smallest buffer of which that is so many.
int64_t buffer_for_far_bytes(int64_t bytes);

// Blocks that each unit reads between writing a part of so many blocks and reading that again,
// ascending: a 32nd to twice of what all caches may hold, as far as `room`, in blocks, has all
// units' parts beside them.
std::vector<int64_t> passing_blocks(const Known& known, int units, int64_t part, int64_t room);

// Bytes per unit, ascending, for a sweep by all units that shows where each cache stops holding
// what is streamed: from a quarter of the first one to four times what the last one may hold, at
// least 64 MiB in total, a quarter of an octave apart; then one beyond all of them. In total at
// most `most`. Empty: no knees.
std::vector<int64_t> scan_footprints(const Known& known, int units, int64_t most);

}  // namespace assay::probe
