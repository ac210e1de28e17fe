// The plan as it grows: programs by their text, tensors by graph tensor and layout, one step per
// tile-graph.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/search/connect.h"
#include "compiler/search/tile_graphs.h"
#include "ir/plan.h"

namespace assay::compiler {

class PlanBuilder {  // invariant: refers to the graphs of one compilation, which outlive it
 public:
  PlanBuilder(const TileGraphs& graphs, int units);

  // Equal programs are one program of the plan.
  void add_step(const Chosen& step);

  ir::Plan& plan() { return plan_; }
  // Row-major values of the plan's constant tensors, by position in plan.tensors; others are empty.
  std::vector<ir::Constant>& constants() { return constants_; }

 private:
  int program_id(const ir::Program& program);
  int tensor_id(int t, const ir::Layout& wanted);

  const TileGraphs& graphs_;
  ir::Plan plan_;
  std::vector<ir::Constant> constants_;
  std::map<std::string, int> programs_;
  std::map<std::pair<int, std::string>, int> tensors_;
};

}  // namespace assay::compiler
