// What each tile-graph of a group computes for a given tile of the last one (the propagation of
// Welder, OSDI'23, section 4.1). Tiles that overlap are windows (ir/windows.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/search/tile_graphs.h"

namespace assay::compiler {

// A tensor that a group keeps on the chip: tiles, or windows in a shape of their own.
struct Kept {
  std::vector<int64_t> shape;
  ir::Layout layout;  // of one group's tile
  int64_t bytes = 0;  // of that
};

struct Propagated {
  // Per tile-graph what it computes, with its tile in Problem::group, and its tensors in the graph;
  // -1: it passes them in a register.
  std::vector<Problem> problems;
  std::vector<std::vector<int>> tensors;
  // Per tile-graph, how many groups compute each of its tiles, and each of its terms.
  std::vector<double> repeats, times;
  std::map<int, Kept> kept;       // by tensor of the graph
  std::map<int, int64_t> stored;  // tensors that the step writes as well -> bytes of a group's tile
  std::string why;                // no tiles follow
};

// `all`: tile-graphs in the order in which they run; `problems`: of all tile-graphs, with the
// graph's axes; `group`: of the last one's anchor; `stored`: tensors that others read as well.
Propagated propagate(const TileGraphs& graphs, const std::vector<Problem>& problems,
                     const std::vector<int>& all, const std::vector<int64_t>& group,
                     const std::set<int>& stored);

}  // namespace assay::compiler
