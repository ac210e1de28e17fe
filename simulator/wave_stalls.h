// How long one wave stalls for its loads. A wave issues in order and stops at the first use of a
// value that has not arrived. Loads that are batched (lower/early_loads.h) are waited for together,
// while other waves of the unit run. This is the memory-level parallelism of Hong and Kim (ISCA
// 2009), with the loops' own counts.
#pragma once

#include <vector>

#include "ir/program.h"
#include "lower/count.h"
#include "model/machine.h"
#include "model/streams.h"
#include "model/traffic.h"

namespace assay::simulator {

struct WaveStalls {
  double copying = 0;    // s: the loops that copy operands to a scratchpad
  double computing = 0;  // s: all others
};

// Of each of `waves` waves that share the work. The part of a wave's loads that miss a level wait
// for the next one.
WaveStalls wave_stalls(const ir::Program& p, const model::Machine& m, const model::Streams& streams,
                       const std::vector<model::LevelTraffic>& traffic, const lower::Counts& counts,
                       double waves);

}  // namespace assay::simulator
