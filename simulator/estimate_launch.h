// Estimates of programs whose lanes are threads: counts of a launch (model/analyse), priced.
// Internal to simulator/.
#pragma once

#include <span>

#include "lower/count.h"
#include "simulator/estimate.h"

namespace assay::simulator {

// Pre: m.simt. `counts`: of the program's loop kernel as it is written.
model::Estimate estimate_launch(const ir::Program& p, const model::Machine& m,
                                const CacheState& before, std::span<const Range> where,
                                const lower::Counts& counts, TermDetail detail,
                                const InGroup& group = {});

}  // namespace assay::simulator
