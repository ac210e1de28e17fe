// Occupancy of a unit whose lanes are threads: how many groups are resident, and the load and store
// ports that they share.
#pragma once

#include "ir/program.h"
#include "lower/count.h"
#include "model/machine.h"

namespace assay::simulator {

double waves_per_group(const ir::Program& p);

// Vector registers of a wave.
double registers_per_wave(const ir::Program& p);

// Groups of the program that are resident on a unit, at least 1: limited by scratchpad, registers,
// waves and groups.
double groups_per_unit(const ir::Program& p, const model::Machine& m);

// The first level that is no scratchpad. Pre: there is a memory.
const model::Level& nearest_cache(const model::Machine& m);

// Seconds of the unit that has `share` of the work, for all loads and stores of its waves at the
// ports of its scratchpad and nearest cache. Where no gather rate was measured, each gathered lane
// takes a transaction of the cache.
struct PortTimes {
  double in = 0, out = 0;
};
PortTimes port_times(const ir::Program& p, const model::Machine& m, const lower::Counts& counts,
                     double share);

}  // namespace assay::simulator
