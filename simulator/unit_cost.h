// What a core pays for a program, and what it comes to.
#pragma once

namespace assay::simulator {

// Seconds of the busiest unit.
struct UnitCost {
  double vector = 0, load = 0, store = 0, issue = 0, chain = 0;
  double translation = 0;    // of pages that left the nearest buffer
  double sets = 0;           // of lines that meet in a set
  double streaming = 0;      // all transfers behind the nearest cache, and what is waited for there
  double near = 0, far = 0;  // of these, what takes time of its own: between private caches, and
                             // from shared memories
  double copied_load = 0, copied_store = 0,
         copied_issue = 0;  // the parts of loads, stores and slots that copy staged operands
  double copied_near = 0,
         copied_sets =
             0;  // the part of `near` and `far` that does, and of lines that it changes in a set
  double contended = 0;  // lines that units take from each other in turn
};

// ECM: what a core does in its pipes, slots and ports goes on side by side and is joined by a
// p-norm, since overlap is never perfect near the tie; a part of what transfers take beyond the
// loads and stores of the same lines goes on in turn with all of it. So do copies of staged
// operands, which stand before the loops that compute, further than a core looks ahead. Nothing is
// faster than its transfers alone. `together`: of the sum of loads and stores, what both take side
// by side at least.
double composed(const UnitCost& c, double together);

}  // namespace assay::simulator
