// Copies of staged operands: passes of their own that stand before the loops that compute.
#pragma once

#include "ir/program.h"
#include "lower/count.h"
#include "model/streams.h"
#include "model/traffic.h"

namespace assay::model {

// Loads, and as many stores. Compilers make whole vectors of such loops where both sides lie in order.
struct Copies {
  double written = 0;   // as the loop kernel has them
  double executed = 0;
  double alone = 0;     // of those executed: too many at once for a core to look past them to arithmetic
};
Copies copies_of(const ir::Program& p, const lower::Counts& counts, int native_width);

// Of the bytes that go between two levels, the part of copies: what they read, and they themselves as they are written.
double copied_part(const Streams& s, const LevelTraffic& t);

}  // namespace assay::model
