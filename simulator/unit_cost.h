// The parts of a core's time for a program, and how they overlap.
#pragma once

namespace assay::simulator {

// Seconds of the busiest unit.
struct UnitCost {
  double vector = 0, load = 0, store = 0, issue = 0, chain = 0;
  double tlb = 0;            // of TLB misses
  double set_conflicts = 0;  // of lines that conflict in a set
  double transfers = 0;      // all of them behind the nearest cache, with the misses waited for
  // ECM non-overlap of these: between private caches, and from shared memories.
  double private_non_overlap = 0, shared_non_overlap = 0;
  // The parts of loads, stores and slots that copy staged operands.
  double copied_load = 0, copied_store = 0, copied_issue = 0;
  // The parts of both non-overlaps, and of set conflicts, that do.
  double copied_non_overlap = 0, copied_set_conflicts = 0;
  double contention = 0;  // of lines that units take from each other
};

// ECM time. In-core parts (pipes, slots, ports) overlap and are joined by a p-norm, since overlap
// is never perfect near a tie. The non-overlap of transfers is added to them. So are copies of
// staged operands, which run before the loops that compute, outside their reorder window. No
// program is faster than its transfers. `serialisation`: concurrent loads and stores take at least
// so much of the sum of their times.
double ecm_time(const UnitCost& c, double serialisation);

}  // namespace assay::simulator
