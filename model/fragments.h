// What matrix instructions cost a wave beside their own rate: registers that hold fragments, and
// cycles of loads and stores whose lanes lie over two axes of a matrix.
#pragma once

#include "ir/program.h"
#include "model/analyse.h"

namespace assay::model {

// Registers of a thread for the accumulators of a register tile and the fragments of one step. Pre:
// the program names a matrix instruction that it can use.
double fragment_registers(const ir::Program& p);

// Accumulators of a register tile: chains of instructions that do not wait for each other.
double fragments_of_tile(const ir::Program& p);

// Cycles of one register's load in all lanes, from the scratchpad if the operand is staged, else
// from the nearest cache. `read`: of the anchor; -1: a store of the result.
double fragment_cycles(const ir::Program& p, int read, const WaveShape& shape);

// Cycles of a fragment's load in runs, from the scratchpad.
double wave_load_cycles(const ir::Program& p, int read, const WaveShape& shape);

// Bytes of one line of an opaque fragment: what a load of one step of its memory brings. `read`: as
// above.
double line_bytes(const ir::Program& p, int read);

}  // namespace assay::model
