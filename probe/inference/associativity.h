// How many ways a cache has, from chases through n lines a stride apart, and how fast a set of the
// nearest one takes lines.
//
// Lines a multiple of a way's size apart meet in one set: the chase is as fast as the level up to n
// = ways, and as slow as the next one beyond. At strides below a way's size the lines spread over
// several sets, and n grows as the stride shrinks. So it is told only if
//   - n is the same for most strides from some power of two on, three at least, odd multiples among
//   them (a number of
//     sets that is no power of two would tell itself from those), and none of them shows more,
//   - n times the smallest such stride is the capacity, or up to four times as much.
// Where sets are chosen by a hash, or pages lie scattered and a way is larger than one, this does
// not hold: nothing is told.
#pragma once

#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

// `level`: position in known.levels. Unknown says why.
hwdesc::Value<hwdesc::Count> ways_of(const Observations& all, const Known& known, size_t level);

// Lines a page apart that the level holds: where a chase through so many takes as long as half the
// way to the next level. Unknown says why.
hwdesc::Value<hwdesc::Count> page_lines_of(const Observations& all, const Known& known,
                                           size_t level);

// Loads that nothing waits for: the first lines of more pages than a set has ways, which lie in one
// set where a way is a page, or lines side by side, more than the cache holds. `changed`: parts of
// those are stored instead. `apart`: bytes.
struct Turns {
  bool in_one_set = false, changed = false;
  int64_t lines = 0, apart = 0;
  int64_t bytes() const { return lines * apart; }
  const char* what() const { return changed ? "changed" : "turns"; }
};
std::vector<Turns> turns_of(const Known& known);

// What a line takes there, and one that is changed in part, in all sets that pages begin in: those
// of the level's capacity and ways, which `to` has already. Unknown where they come as fast as
// lines side by side. Without such observations nothing is changed.
void add_set_turns(const Observations& all, const Known& known, hwdesc::MemoryLevel& to);

}  // namespace assay::probe
