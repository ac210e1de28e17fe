// What each tile-graph takes as a step of its own, and a group of them as one, in the caches that
// they find. Internal to compiler/search/.
#pragma once

#include <vector>

#include "compiler/search/construct_all.h"
#include "simulator/range.h"

namespace assay::compiler {

// What a step, or several, are expected to take.
struct Cost {
  double seconds = 0, shared_bytes = 0;  // through memory that units share
};

class StepCosts {  // invariant: refers to the parts of one compilation, which outlive it
 public:
  StepCosts(const TileGraphs& graphs, const Programs& programs, const model::Machine& machine);

  // The caches before each tile-graph are those where all run one by one, again and again.
  void find_caches();

  // Of a tile-graph as a step of its own. Pre: caches are found.
  Cost alone(int part) const;
  // Of a group, whose program has these tensors of the graph, where its first part would run. Pre:
  // caches are found.
  Cost together(const ir::Program& p, int first, const std::vector<int>& tensors) const;
  // Bytes over each boundary of the memories, of all tile-graphs as steps of their own.
  const std::vector<model::LevelUse>& traffic() const { return traffic_; }

 private:
  model::Estimate run(int part, simulator::CacheState& state) const;
  Cost cost_of(const model::Estimate& e) const;
  std::vector<simulator::Range> where_of(const std::vector<int>& tensors) const;

  const std::vector<TileGraph>& parts_;
  const Programs& programs_;
  const model::Machine& machine_;
  const std::vector<simulator::Range> ranges_;
  std::vector<simulator::CacheState> before_;
  std::vector<model::LevelUse> traffic_;
};

}  // namespace assay::compiler
