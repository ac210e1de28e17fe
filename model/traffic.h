// Bytes that cross each boundary of the memory hierarchy, from footprints and reuse distances.
//
// For a cache of capacity C take the outermost depth j of the nest whose working set W(j), the sum
// of the streams' footprints, fits. A stream's traffic into the cache is its footprint at depth j
// times the trips of the loops outside, with two exceptions.
//   - Loops just outside j that do not move the stream find its data still there.
//   - The next loop that moves it loads only what is new (overlapping windows of convolutions).
// A partial tile at the end of an axis counts with what is in it. No stream fetches more lines than
// its accesses touch. Replacement is not perfect, so the traffic of "fits" and "does not fit" is
// blended by the hit rate (retention.h). A scratchpad takes what is staged in it. Private caches
// see one unit's share of the groups, shared caches all of them. An output that fits is not written
// back.
//
// Source: reuse-distance form of Roller's MemWorkload (OSDI'22, 3.3) and the layer conditions of
// kerncraft's ECM model, for any number of levels.
#pragma once

#include <vector>

#include "model/launch_work.h"
#include "model/machine.h"
#include "model/streams.h"

namespace assay::model {

// [tensor][level]: the fraction of an operand that a cache holds when the program starts. Empty:
// cold.
using CachedFractions = std::vector<std::vector<double>>;

struct LevelTraffic {  // into (read) and out of (written) level i, from and to level i+1
  double read = 0, written = 0;
  double working_set = 0;   // of the depth that fits, bytes
  double unprefetched = 0;  // of all units: lines read at the start of a run, before any prefetch
  double runs_written = 0;  // of all units: runs of lines that are written
  // Of all units: lines that conflict in a set of the nearest cache; those that are modified there
  // and written back.
  double set_conflicts = 0, set_conflicts_dirty = 0;
  double copy_set_conflicts = 0;  // the same of copies of staged operands, which come on top
  std::vector<BytesMoved> streams;
};

// One entry per memory level but the last. `most`: bytes per stream that its accesses can fetch
// (accessed_bytes); empty: not known. `at_once`: groups that run concurrently on a unit.
std::vector<LevelTraffic> traffic(const ir::Program& p, const Streams& s, const Machine& m,
                                  const CachedFractions& resident,
                                  const std::vector<double>& most = {}, double at_once = 1);

}  // namespace assay::model
