// How long dependence chains of accumulations take: the latency that no other work of a unit hides.
// Internal to simulator/.
#pragma once

#include "ir/program.h"
#include "lower/count.h"
#include "model/machine.h"
#include "model/streams.h"

namespace assay::simulator {

// Seconds of the unit that has `share` of the work; 0: nothing is accumulated. Each accumulator is
// a chain, and those of a tile overlap. A core overlaps the tiles that follow within its reorder
// window (model::kReorderWindow), a SIMT unit its resident waves.
double chain_seconds(const ir::Program& p, const model::Machine& m, const model::Streams& streams,
                     const lower::Counts& counts, double share);

}  // namespace assay::simulator
