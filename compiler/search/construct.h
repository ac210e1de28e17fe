// Construction instead of search: a few hundred aligned programs of one tile-graph are estimated,
// and the best are estimated again with exact counts (Roller, OSDI'22, section 3.3; Hidet's
// hardware-centric space).
//
// Tiles follow from the target's numbers alone. The vector axis is one along which every operand's
// lanes are contiguous, or can be made so by packing. The register tile grows along the axes with
// the best reuse until its accumulators fill the register file. Group tiles follow from the number
// of units, block tiles from the caches.
#pragma once

#include <cstddef>
#include <functional>
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
  // Per axis of the anchor the extent of a group's tile, where it is given; empty: it is free.
  std::vector<int64_t> group = {};
  // Of such a group: its waves, where lanes are threads, and what it finds on the chip.
  int waves = 1;
  simulator::InGroup on_chip = {};
};

// Calls `f(i)` for every i below n, which may happen at once. Who compiles has threads or not; this
// folder starts none. Empty: one after the other.
using ForEach = std::function<void(size_t n, const std::function<void(size_t)>& f)>;

struct Candidate {
  ir::Program program;
  model::Estimate estimate;
};

// Times within this ratio are the same to the model; bytes below this ratio clearly differ.
inline constexpr double kAlike = 1.01, kClearlyLess = 0.9;

// The fastest program by another matrix instruction of the chip, or by multiply-adds (empty).
struct Alternative {
  std::string instruction;
  double seconds = 0;
  bool at_least = false;  // it was not estimated, as it can not be among the fastest
};
std::string print(const Alternative& a);  // `by multiply-adds: 1090 us`

struct Constructed {
  // Lowerable, at least one, fastest first. Among those within kAlike of the fastest, one with
  // clearly less traffic through shared levels comes first.
  std::vector<Candidate> best;
  std::vector<Alternative> others;
  int64_t evaluated = 0, pruned = 0;
};

// What comes out is the same for every `each`. Errors: not even the scalar fallback can be lowered
// (says why).
Result<Constructed> construct(const Problem& problem, const hwdesc::Target& target,
                              const model::Machine& m, const simulator::CacheState& before,
                              std::span<const simulator::Range> where, int keep,
                              const ForEach& each = {});

}  // namespace assay::compiler
