// The parts of a core's time for a program, and how they overlap.
#pragma once

namespace assay::simulator {

// Seconds of the busiest unit.
struct UnitCost {
  double vector = 0, load = 0, store = 0, issue = 0, chain = 0;
  double tlb = 0;            // of TLB misses
  double set_conflicts = 0;  // of lines that conflict in a set
  double transfers = 0;      // all of them behind the nearest cache, with the misses waited for
  // The parts of transfers that do not overlap with computing: between private caches, and from
  // shared memories.
  double private_non_overlap = 0, shared_non_overlap = 0;
  // The parts of these that copy staged operands.
  double copied_load = 0, copied_store = 0, copied_issue = 0, copied_transfers = 0;
  double copied_non_overlap = 0, copied_set_conflicts = 0;
  double contention = 0;  // of lines that units take from each other
};

// ECM time (Treibig, Hager 2009; Stengel et al., ICS'15), with overlap by boundary. Ports are
// filled together, so the busiest is the limit, as in the port models of OSACA and llvm-mca. One
// p-norm joins what overlaps: ports, issue slots, chains, conflicts, and the overlapping part of
// transfers. What does not overlap is added. Copies of staged operands are a phase before the loops
// that compute, outside their reorder window. Lines that units take from each other are waited for,
// and added. `serialisation`: concurrent loads and stores take at least so much of the sum of their
// times.
double ecm_time(const UnitCost& c, double serialisation);

}  // namespace assay::simulator
