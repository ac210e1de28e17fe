// Bytes that cross each boundary of the memory hierarchy, from footprints and reuse distances.
//
// For a cache of capacity C take the outermost depth j of the nest whose working set W(j) = sum of
// the streams' footprints fits. A stream's traffic into the cache is then its footprint at depth j
// times the trips of the loops outside, except that
//   - loops just outside j that do not move the stream find its data still there, and
//   - the next loop that does move it loads only what is new (overlapping windows of convolutions).
// A partial tile at the end of an axis counts with what is in it, and no stream fetches more lines
// than its accesses touch. Where a cache holds a part of it, the traffic of "fits" and "does not
// fit" is blended by that part (retention.h), since replacement is not perfect. Explicit memories
// take exactly what is staged in them. Private caches see one unit's share of the groups, shared
// caches all of them. An output that fits stays where it is: it is not written back. Source:
// reuse-distance form of Roller's MemWorkload (OSDI'22, 3.3) and the layer conditions of
// kerncraft's ECM model, for any number of levels.
#pragma once

#include <vector>

#include "model/machine.h"
#include "model/streams.h"

namespace assay::model {

// resident[tensor][level]: the fraction of an operand that already lies in a cache when the program
// starts. Empty: cold.
using Residency = std::vector<std::vector<double>>;

struct StreamTraffic {
  double read = 0, written = 0;  // bytes, of all units together
};

// What a line takes that is loaded, changed and stored, of one that is changed in part
// (memory.*.set_conflict_dirty); one that is written whole takes half of that. Assumed: loops over
// 16 to 768 rows 2 to 12 KiB apart took 9 to 10 cycles a line that is loaded, 7 to 10 that is
// written whole, 18 to 29 in part (it comes, and leaves), and 28 to 32 that is updated, on one core
// (C of docs/RESULTS.md), where all rows share a set; a half and a quarter of that with two and
// four. On another (B) 39 to 128 rows took 4 to 7 cycles a line that is loaded, 15 to 28 that is
// written whole, 26 to 32 in part, 36 to 41 updated.
inline constexpr double kUpdateConflictCost = 1.3;

struct LevelTraffic {  // into (read) and out of (written) level i, from and to level i+1
  double read = 0, written = 0;
  double short_run_read = 0, short_run_written = 0;  // of these, in short runs that lie apart
  double working_set = 0;                            // of the depth that fits, bytes
  double unprefetched =
      0;  // of all units: lines read at the start of a run, which no prefetcher knew of
  double set_conflicts = 0,
         set_conflicts_dirty = 0;  // of all units: lines that come into one set of the nearest
                                   // cache one after the other; that are changed there, and leave
  double copy_set_conflicts = 0;  // beside those that are changed, by copies of staged operands
  double unprefetched_set_conflicts =
      0;  // of those that come: the first ones of runs, which no prefetcher knew
          // of, each as often as sets wait beside its own
  std::vector<StreamTraffic> streams;
};

// One entry per memory level but the last. `most`: bytes per stream that its accesses can fetch
// (accessed_bytes); empty: not known. `at_once`: groups that run side by side on a unit.
std::vector<LevelTraffic> traffic(const ir::Program& p, const Streams& s, const Machine& m,
                                  const Residency& resident, const std::vector<double>& most = {},
                                  double at_once = 1);

// Pages of all units whose translation has left the nearest buffer of translations before they are
// touched again: that buffer is a cache too, of `translations` lines as long as a page. 0: the
// profile does not know it.
double pages_missed(const ir::Program& p, const Streams& s, const Machine& m);

// Of these, as many as have left the buffer behind it, too.
double pages_walked(const ir::Program& p, const Streams& s, const Machine& m);

}  // namespace assay::model
