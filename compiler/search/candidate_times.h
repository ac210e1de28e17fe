// Lower bounds and estimates of the programs that construction considers.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/search/construct.h"
#include "lower/count.h"

namespace assay::compiler {

struct Bounded {
  ir::Program program;
  std::optional<ir::Program> tile = {};  // one group's, of cores whose groups are given
  lower::Counts counts = {};             // of the program, or of the tile
  double least = 0;                      // s
};

class CandidateTimes {  // invariant: refers to a problem and what it runs on, which outlive it
 public:
  CandidateTimes(const Problem& problem, const model::Machine& m,
                 const simulator::CacheState& before, std::span<const simulator::Range> where,
                 const ForEach& each);

  // Calls `f` for all numbers below n.
  void each(size_t n, const std::function<void(size_t)>& f) const;

  // Of a whole program, or of a tile where groups are given.
  Bounded bound(ir::Program p) const;
  model::Estimate estimate(const Bounded& b) const;

  // Estimates of all programs that may be among the `keep` fastest, or alike. Those whose lower
  // bound exceeds that many estimates are not. Sorts by the bounds; moves the programs that come
  // first to the result.
  std::vector<Candidate> fastest(std::vector<Bounded>& all, int keep) const;

 private:
  const Problem& problem_;
  const model::Machine& machine_;
  const simulator::CacheState& before_;
  const std::span<const simulator::Range> where_;
  const ForEach& each_;
  std::optional<model::Machine> unit_;  // one core, where groups are given
};

}  // namespace assay::compiler
