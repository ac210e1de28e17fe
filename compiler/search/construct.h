// Construction instead of search: for one tile-graph a few hundred aligned programs, estimated, the
// best re-scored with exact counts (Roller, OSDI'22, section 3.3; Hidet's hardware-centric space).
//
// Tiles are aligned with the target's numbers alone: the vector axis is one along which every
// operand's lanes are neighbours (or can be made so by packing), the register tile is grown along
// the axes with the best reuse until the accumulators fill the register file, group tiles follow
// from the number of units, block tiles from the caches.
#pragma once

#include <span>
#include <vector>

#include "hwdesc/target.h"
#include "ir/program.h"
#include "model/machine.h"
#include "simulator/estimate.h"
#include "support/result.h"

namespace assay::compiler {

struct Problem {
  ir::Graph graph;                  // one chain: nodes[0] is the anchor
  std::vector<ir::Layout> layouts;  // per tensor
  std::vector<bool> packable;       // per tensor: a constant, its layout is ours to choose
};

struct Candidate {
  ir::Program program;
  model::Estimate estimate;
};

// Times of which the model can not tell which is less; bytes of which it can.
inline constexpr double kAlike = 1.01, kClearlyLess = 0.9;

struct Constructed {
  // Lowerable, at least one, fastest first; in front of all, of those as fast as the fastest, what
  // moves clearly less through caches and memories that units share.
  std::vector<Candidate> best;
  int64_t evaluated = 0, pruned = 0;
};

// Errors: not even the scalar fallback can be lowered (says why).
Result<Constructed> construct(const Problem& problem, const hwdesc::Target& target,
                              const model::Machine& m, const simulator::CacheState& before,
                              std::span<const simulator::Range> where, int keep);

}  // namespace assay::compiler
