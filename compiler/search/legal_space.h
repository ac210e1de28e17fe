// The legal programs of one tile-graph as a set to draw from: every tile extent, loop order,
// staging, vector axis and width that lowering accepts, not only those that construction considers.
// For judging the model: what construction never visits is where a model can err unseen.
//
// A point is three tile levels (four where an operand is blocked along a reduce axis), an order per
// level, a copy or none per operand, packed weights or plain ones. Drawing takes each of these
// uniformly and drops what is not legal, so that what is left is uniform over the legal points:
// per axis the chains of extents (inner divides outer, or outer is the whole axis) are counted and
// drawn by their number. Unrolled code is bounded: kMostUnrolled operations in a register tile,
// kMostStatements in a kernel.
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

  // A program within lower::legal; whether it lowers is asked with `lowered`. nullopt: a great many
  // draws were all illegal.
  std::optional<ir::Program> draw(std::mt19937_64& rng) const;

  // Programs one step away: an extent of one tile doubled or halved, in registers one vector or row
  // more or less (outer tiles follow to stay multiples); two neighbouring loops swapped; a copy
  // added, moved or dropped; prefetching or not; the vector width doubled or halved.
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
