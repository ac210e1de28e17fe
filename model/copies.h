// Copies of staged operands: passes of their own that stand before the loops that compute.
#pragma once

#include "ir/program.h"
#include "lower/count.h"
#include "model/control.h"
#include "model/streams.h"
#include "model/traffic.h"

namespace assay::model {

// Loads, and as many stores: the kernel languages' compilers are told, or fail, to join them.
struct Copies {
  Copying parts;
  double all = 0;  // stores: whole vectors, single elements, and lanes that are taken apart
  double single =
      0;  // of those, elements that are copied one by one, whatever the program's vectors
  double alone = 0;  // of those: too many at once for a core to look past them to arithmetic
};
Copies copies_of(const ir::Program& p, const lower::Counts& counts);

// Of the bytes that go between two levels, the part of copies: what they read, and they themselves
// as they are written.
double copied_part(const Streams& s, const LevelTraffic& t);

}  // namespace assay::model
