// The legal programs of one tile-graph as a set to draw from. Every tile extent, loop order,
// staging, vector axis and width that lowering accepts belongs to it, not only those that
// construction considers. The model is judged by it: it may err where construction never looks.
//
// A point has three tile levels, or four where an operand is blocked along a reduce axis. It has an
// order per level, a copy or none per operand, and packed weights or plain ones. Each coordinate is
// drawn uniformly and illegal points are rejected, so legal points are drawn uniformly. Extents of
// one axis form a chain (inner divides outer, or outer is the whole axis); chains are counted.
// Unrolled code is bounded: kMostUnrolled operations in a register tile, kMostStatements in a
// kernel.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "compiler/search/space.h"
#include "ir/kernel.h"

namespace assay::compiler {

inline constexpr int64_t kMostUnrolled = 64;
inline constexpr int64_t kMostStatements = 2000;

class LegalSpace {  // invariant: refers to a problem, a target and a machine that outlive it
 public:
  LegalSpace(const Problem& problem, const hwdesc::Target& target, const model::Machine& m);
  ~LegalSpace();

  // A program that lower::legal accepts; `lowered` says whether it lowers. nullopt: kMostDraws
  // points were all illegal.
  std::optional<ir::Program> draw(std::mt19937_64& rng) const;

  // Programs one step away: an extent of one tile doubled or halved, or in registers one vector or
  // row more or less, with outer tiles rounded to multiples. Or two adjacent loops swapped; a copy
  // added, moved or dropped; prefetching switched; the vector width doubled or halved.
  std::vector<ir::Program> neighbours(const ir::Program& p) const;

  // What construction considers.
  std::vector<ir::Program> constructed() const;

  // The program's loop kernel; nullopt: it does not lower, or its code is too long.
  std::optional<ir::Kernel> lowered(const ir::Program& p) const;

 private:
  class Drawer;
  Space space_;
  const hwdesc::Target& target_;
  std::vector<int> widths_;
  std::unique_ptr<const Drawer> drawer_;
};

}  // namespace assay::compiler
