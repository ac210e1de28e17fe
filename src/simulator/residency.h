// How much of a program's operands the caches already hold. Internal to simulator/.
#pragma once

#include "model/traffic.h"
#include "simulator/estimate.h"

namespace assay::simulator {

model::Residency residency_of(const ir::Program& p, const model::Machine& m, const CacheState& before,
                              std::span<const int> keys);

// Bytes that a unit reads of what another unit wrote last and still holds in its own caches.
double handed_over(const ir::Program& p, const model::Machine& m, const CacheState& before, std::span<const int> keys);

}  // namespace assay::simulator
