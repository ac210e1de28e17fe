// A program of waves as a launch in counts: what depends on no rate, latency or capacity.
//
// Each wave runs the program's kernel once. Copies of staged operands load, wait, store, and meet
// the group's other waves at a barrier. Compilers hoist the loads of so many iterations of an
// unrolled loop together, so a wave waits once for each such batch.
#pragma once

#include <vector>

#include "ir/program.h"
#include "lower/count.h"
#include "model/launch_work.h"
#include "model/machine.h"
#include "model/streams.h"
#include "model/traffic.h"

namespace assay::model {

// What a program's counts depend on of a chip and its compiler.
struct WaveShape {
  double lanes = 32;
  double banks = 32, bank_width = 4;  // of the scratchpad
  double line = 128, sector = 32;     // of the unit's own cache
  double unrolled = 1;                // iterations of a loop whose loads are hoisted together
  bool copies_overlap = false;        // a mover copies while the unit computes
};
WaveShape shape_of(const Machine& m);

// `traffic`: bytes over each boundary, where the caches hold what they can of what is used again
// (traffic.h); `nearest`: the level of the unit's own cache, whose boundary is the first. Pre:
// m.simt.
LaunchWork analyse(const ir::Program& p, const Streams& streams, const lower::Counts& counts,
                   const WaveShape& shape, const std::vector<LevelTraffic>& traffic,
                   size_t nearest);

// Registers of a thread: accumulators, operands of a step, and what every thread needs.
double registers_of_thread(const ir::Program& p);

// Waves of a group.
double waves_of_group(const ir::Program& p);

// Bytes of scratchpad of a group, those of later pipeline stages included.
double scratch_of_group(const ir::Program& p, const lower::Counts& counts);

}  // namespace assay::model
