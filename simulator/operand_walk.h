// How a program's units walk its operands: which bytes are whose, and what else they touch on the
// way. Internal to simulator/.
#pragma once

#include <vector>

#include "lower/nest.h"
#include "model/machine.h"
#include "model/streams.h"
#include "simulator/estimate.h"

namespace assay::simulator {

// Units that have a group of the program, at least 1.
double units_of(const ir::Program& p, const model::Machine& m);

// Per tensor of the program's graph, of one unit's part: bytes of whole lines, and the capacity
// that these take in its largest private cache. Rows that map to few sets take more.
std::vector<double> bytes_of_unit(const ir::Program& p, const model::Machine& m);
std::vector<double> room_taken(const ir::Program& p, const model::Machine& m);

// How the program's units share out the bytes of a tensor, which lies at `where`.
UnitPartition partition_of(const ir::Program& p, int tensor, const lower::Nest& nest,
                           const Range& where, double units, int first = 0);

struct Walk {  // the last walk of a unit through its own part of an operand
  // Bytes of other operands that it touches meanwhile: in the innermost loops that cover the part.
  double others_between = 0;
  double walk_fraction = 1;  // of the program's work, by those bytes
  WalkTimes first{}, last{};
};

// By tensor.
std::vector<Walk> walks_of(const ir::Program& p, const model::Streams& streams,
                           const model::Machine& m);

// What looking up a program's operands needs beside the caches: made once, used in each step of the
// program on so many units.
struct Operands {
  Operands(const ir::Program& p, const model::Machine& m);

  model::Streams streams;
  double units = 1;
  std::vector<Walk> walks;
  std::vector<double> needed, room;  // bytes_of_unit, room_taken
};

}  // namespace assay::simulator
