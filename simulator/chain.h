// How long dependent accumulations take: the latency that no other work of a unit hides. Internal
// to simulator/.
#pragma once

#include "ir/program.h"
#include "lower/count.h"
#include "model/machine.h"
#include "model/streams.h"

namespace assay::simulator {

// Seconds of the unit that has `share` of the work; 0: nothing is accumulated. Each accumulator is
// a chain, those of a tile run side by side; a core looks ahead to the tiles that follow as far as
// its window reaches (model::kReorderWindow), a SIMT unit's resident waves take turns.
double chain_seconds(const ir::Program& p, const model::Machine& m, const model::Streams& streams,
                     const lower::Counts& counts, double share);

}  // namespace assay::simulator
