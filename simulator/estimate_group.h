// A program with producers: what a group's tiles cost one after the other. Internal to simulator/.
#pragma once

#include <span>
#include <vector>

#include "ir/producers.h"
#include "simulator/estimate.h"

namespace assay::simulator {

// Where lanes are elements of vectors, the busiest unit's groups in order: each producer's tile,
// then the program's own, with the caches that the tile before left. Where they are threads, the
// programs one after the other in one launch.
model::Estimate estimate_group(const ir::Program& p, const model::Machine& m,
                               const CacheState& before, std::span<const Range> where,
                               TermDetail detail);

// Storage of a member's tensors that lie outside of the chip.
std::vector<Range> outside(const ir::Program& p, const ir::Member& member,
                           std::span<const Range> where);

CacheState after_group(const ir::Program& p, const model::Machine& m, CacheState before,
                       std::span<const Range> where);

}  // namespace assay::simulator
