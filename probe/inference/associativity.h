// How many ways a cache has, from chases through n lines at a stride, and what a set conflict in
// the nearest one costs.
//
// Lines at multiples of a way's size map to one set. Up to n = ways the chase is as fast as the
// level, beyond that as slow as the next one. At smaller strides the lines spread over several
// sets, and n grows as the stride shrinks. So the ways are known only if
//   - n is the same for most strides from some power of two on, at least three;
//   - among them are odd multiples, which a number of sets that is no power of two would separate;
//   - none of them shows more;
//   - n times the smallest such stride is the capacity, or up to four times as much.
//
// Where sets are hashed, or pages are scattered and a way is larger than one, the result is
// unknown.
#pragma once

#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

// `level`: position in known.levels. Unknown says why.
hwdesc::Value<hwdesc::Count> ways_of(const Observations& all, const Known& known, size_t level);

// Lines at a stride of a page that the level holds: where a chase through so many takes half of the
// step to the next level. Unknown says why.
hwdesc::Value<hwdesc::Count> page_lines_of(const Observations& all, const Known& known,
                                           size_t level);

// Independent loads of lines at a stride. Either they map to one set: first lines of more pages
// than a set has ways, where a way is a page. Or they are neighbours, more than the cache holds.
// With `stores`, parts of the lines are written instead.
struct SetConflictCase {
  bool one_set = false, stores = false;
  int64_t lines = 0, stride = 0;  // stride: bytes
  int64_t bytes() const { return lines * stride; }
  const char* what() const {
    return stores ? "set_conflict_dirty" : "set_conflict";
  }  // of the observations
};
std::vector<SetConflictCase> set_conflict_cases(const Known& known);

// The cost of a conflicting line, and of one that is written in part, times the sets in which pages
// begin. These follow from the level's capacity and ways, which `to` has already. Unknown where
// such lines are as fast as neighbours. Without such observations nothing is changed.
void add_set_conflict(const Observations& all, const Known& known, hwdesc::MemoryLevel& to);

}  // namespace assay::probe
