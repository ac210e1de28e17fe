// How much of a program's operands the caches already hold. Internal to simulator/.
#pragma once

#include "model/traffic.h"
#include "simulator/estimate.h"

namespace assay::simulator {

model::Residency residency_of(const ir::Program& p, const model::Machine& m, const CacheState& before,
                              std::span<const Range> where);

// Lines that a unit's program finds in other units' own caches, in bytes of one unit.
struct HeldByOthers {
  double handed = 0;     // read, and another unit wrote them last
  double taken = 0;      // written, and another unit wrote them last
  double reclaimed = 0;  // written, and others have read them since somebody wrote them
};
HeldByOthers held_by_others(const ir::Program& p, const model::Machine& m, const CacheState& before, std::span<const Range> where);

}  // namespace assay::simulator
