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

// Bytes per unit for level `i` of `levels` (not the last), where `sharers` units share an instance:
// the geometric mean of the previous capacity and 0.7 of this level's share, at most half of the
// knee. nullopt: the levels are too similar to isolate this one.
std::optional<int64_t> footprint_within(const Levels& levels, size_t i, int sharers);

// The same, and one far into the level where there is room: prefetchers need a long run, and some
// caches are read faster over long stretches.
std::vector<int64_t> footprints_within(const Levels& levels, size_t i, int sharers);

// Bytes per unit that exceed the private caches and stay in what `units` share, where the shared
// levels are too similar to tell one from the next. nullopt: nothing is private, or the shared ones
// hold too little.
std::optional<int64_t> footprint_past_private(const Known& known, int units);

// Bytes of one unit's chase that show the latency of level `i`, not the last: the middle of its
// plateau, by the logarithm. In shared levels a quarter of the way in, since co-tenants evict lines
// farther in.
int64_t footprint_of_latency(const Known& known, size_t i);

// Bytes of each of `units` that stream through the last cache, which they share: more than their
// private caches hold, at most half of what it held in the sweep. nullopt: no sweep, or no room.
std::optional<int64_t> footprint_of_streams(const Known& known, int units);

// Which of `windows` neighbouring windows the g-th group reads, where groups are assigned to units
// cyclically. The groups of one unit read different windows if there are enough. A group that
// follows another one through a window would hit what that has brought into the unit's cache.
int64_t window_of_group(int64_t g, int units, int64_t windows);

// Bytes in total that no cache holds much of: eight times what the last one may hold, at least 64
// MiB, at most `most`.
int64_t footprint_beyond(const Known& known, int64_t most);

// Bytes per group of a sample of far memory, at most: short samples escape interruptions.
inline constexpr int64_t kFarChunk = 4 << 20;

// A sample that writes so many times the last cache's capacity shows far memory's write bandwidth:
// what the cache absorbs hardly makes it faster.
inline constexpr double kWriteDominates = 8;

// Bytes of one buffer that all groups of a sample of far memory touch together, at most: the whole
// of a small one, else a part.
int64_t far_bytes_of_a_sample(int64_t buffer);
int64_t far_bytes_of_a_sample(const Observation& far);  // of the block's groups

// The smallest buffer of which that is so many.
int64_t buffer_for_far_bytes(int64_t bytes);

// Blocks that each unit reads between writing a part of `part` blocks and reading it again,
// ascending: a 32nd to twice of what all caches may hold. `room`: blocks for all units' parts and
// these.
std::vector<int64_t> evicting_blocks(const Known& known, int units, int64_t part, int64_t room);

// Bytes per unit, ascending, for a sweep by all units that shows where each cache stops holding a
// cyclic scan: from a quarter of the first one to four times what the last one may hold, at least
// 64 MiB in total, a quarter of an octave per step; then one beyond all of them. In total at most
// `most`. Empty: no knees.
std::vector<int64_t> scan_footprints(const Known& known, int units, int64_t most);

}  // namespace assay::probe
