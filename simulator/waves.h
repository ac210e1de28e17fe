// What a program takes of a unit whose lanes are threads: how many of its groups are there at a
// time, and the ports they share.
#pragma once

#include "ir/program.h"
#include "lower/count.h"
#include "model/machine.h"

namespace assay::simulator {

double waves_per_group(const ir::Program& p);

// Registers, of a vector each, that a wave takes.
double registers_of_wave(const ir::Program& p);

// Groups of the program on a unit at a time, at least 1: limited by memory of their own, registers,
// waves and groups.
double groups_at_once(const ir::Program& p, const model::Machine& m);

// The first that code does not copy into. Pre: there is a memory.
const model::Level& nearest_cache(const model::Machine& m);

// Seconds of the unit that has `share` of the work, until all that its waves load and store has
// passed the ports of its own memory and of its nearest cache, which takes lanes that lie apart a
// transfer each, where no rate of such lanes was measured.
struct Ports {
  double in = 0, out = 0;
};
Ports through_ports(const ir::Program& p, const model::Machine& m, const lower::Counts& counts,
                    double share);

}  // namespace assay::simulator
