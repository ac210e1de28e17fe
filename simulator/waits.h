// What one wave waits for its loads. A wave takes its instructions in order and stops at the first
// use of what is not there yet; loads that stand together (lower/early_loads.h) are waited for
// together. Other waves of the unit go on meanwhile: the memory-level parallelism of Hong and Kim
// (ISCA 2009), with the loops' own counts in place of theirs.
#pragma once

#include <vector>

#include "ir/program.h"
#include "lower/count.h"
#include "model/machine.h"
#include "model/streams.h"
#include "model/traffic.h"

namespace assay::simulator {

struct Waits {
  double copying = 0;    // s: the loops that copy operands to a group's own memory
  double computing = 0;  // s: all others
};

// Of each of `waves` waves that share the work; as many of a wave's loads as reach a level's
// neighbour wait for that one.
Waits waits_of_a_wave(const ir::Program& p, const model::Machine& m, const model::Streams& streams,
                      const std::vector<model::LevelTraffic>& traffic, const lower::Counts& counts,
                      double waves);

}  // namespace assay::simulator
