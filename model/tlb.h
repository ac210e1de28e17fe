// Misses of address translation. A TLB is a cache of pages, so its misses follow from the same
// footprints and reuse distances as traffic (reuse.h).
#pragma once

#include "model/machine.h"
#include "model/streams.h"

namespace assay::model {

// Pages of all units whose entry has left the first TLB before they are touched again. 0: the
// profile does not know it.
double tlb_misses(const ir::Program& p, const Streams& s, const Machine& m);

// Of these, as many as have left the second TLB, too: each takes a page walk.
double page_walks(const ir::Program& p, const Streams& s, const Machine& m);

}  // namespace assay::model
