// What copies by task mappings cost a wave: cycles of their runs, from the addresses of its lanes,
// and the registers that hold them on the way.
#pragma once

#include "ir/program.h"
#include "model/analyse.h"

namespace assay::model {

struct RunCycles {   // of one run in all lanes
  double load = 1;   // from the nearest cache
  double store = 1;  // to the scratchpad
};
// Of the first wave's first runs: those of others lie a distance further in all lanes. Pre: the
// staging has tasks.
RunCycles run_cycles(const ir::Program& p, const ir::Staging& s, const WaveShape& shape);

// Registers of a thread for the runs of the copy that has the most of them; 0: none has tasks.
double run_registers(const ir::Program& p);

}  // namespace assay::model
