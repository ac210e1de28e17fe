// A product whose threads lie over two axes of a group's tile, as a launch in counts.
//
// Every load and store has the addresses of one representative wave, the first of the first group.
// Each costs what they ask of the scratchpad's banks or of the cache's lines (lane_addresses.h), or
// its turn in the pipe of loads, whichever is more. Lines that come from behind occupy the nearest
// cache as well. Accumulators beyond a thread's registers are stored and loaded again at each step.
#pragma once

#include "ir/program.h"
#include "model/launch_work.h"
#include "model/machine.h"

namespace assay::model {

// What the counts depend on of a chip.
struct ThreadShape {
  int lanes = 32;
  int banks = 32, bank_width = 4;  // of the scratchpad, bytes
  int64_t line = 128;              // bytes, of the nearest cache
  // Cycles of the scratchpad, and of the nearest cache, in which the pipe of loads takes one.
  double scratch_turn = 1, near_turn = 1;
  // Of a thread; of each partition, for all lanes of a wave; a thread has multiples of `granule`.
  double registers_most = 255, partition_registers = 512, granule = 1;
  double partitions = 4;
};
ThreadShape thread_shape_of(const Machine& m);

struct MappedWork {
  // `launch.loads` are turns in the pipe of loads: one that conflicts takes several. The scratchpad
  // and the cache stand behind that pipe, so what they are asked is counted there alone.
  LaunchWork launch;
  // Of a group, for explanations: loads and stores of its waves, cycles of each memory, registers
  // of a thread beyond those that it has.
  double accesses = 0, scratch_cycles = 0, near_cycles = 0, spilled = 0;
};

// Pre: ir::verify and lower::unpriceable find no fault, and p.threads.
MappedWork analyse_mapped(const ir::Program& p, const ThreadShape& shape);

}  // namespace assay::model
