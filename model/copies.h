// Copies of staged operands: passes of their own before the loops that compute.
#pragma once

#include "ir/program.h"
#include "lower/count.h"
#include "model/issue_slots.h"
#include "model/streams.h"
#include "model/traffic.h"

namespace assay::model {

// Loads, and as many stores. Compilers do not vectorise them: they are told not to, or fail.
struct Copies {
  CopyInstructions parts;
  double total = 0;  // stores: whole vectors, single elements, scattered lanes
  // Of these, elements that are copied one by one, whatever the program's vectors.
  double single_elements = 0;
  // Of the total, those that no arithmetic hides: too many at once for the reorder window.
  double exposed = 0;
};
// `window`: instructions.
Copies copies_of(const ir::Program& p, const lower::Counts& counts, double window);

// Of the bytes between two levels, the part of copies: what they read, and they themselves as they
// are written.
double copy_fraction(const Streams& s, const LevelTraffic& t);

}  // namespace assay::model
