// Estimates of programs that place threads over two axes (model/analyse_mapped), priced. Internal
// to simulator/.
#pragma once

#include "simulator/estimate.h"

namespace assay::simulator {

// `before`: warm caches hold the operands, empty ones nothing. Pre: p.threads, m.simt.
model::Estimate estimate_mapped(const ir::Program& p, const model::Machine& m,
                                const CacheState& before, TermDetail detail);

}  // namespace assay::simulator
