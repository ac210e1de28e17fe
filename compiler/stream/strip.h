// A strip as a graph of its own: the nodes of a segment on regions of their tensors.
//
// Axis i of a node becomes i + low, and a read at f(i) becomes one at f(i + low) - low of what it
// reads. So strips between the borders of a tensor are the same graph, and share their programs.
// Guards stay where an index can still leave a tensor: its region ends there at a true border.
#pragma once

#include <string>
#include <vector>

#include "compiler/stream/regions.h"

namespace assay::compiler {

struct Strip {
  ir::Graph graph;                           // its constants are empty until `fill_constants`
  std::vector<int> tensors;                  // per tensor of it, the one of the whole graph
  std::vector<std::vector<int64_t>> begins;  // per tensor of it, where its region begins
};

// Inputs are what the segment reads and no node of it makes: constants only where `regions` cuts
// them. `outputs`: those of the segment. Pre: `regions` are of the segment.
Strip strip_of(const ir::Graph& g, const Segment& s, const Regions& regions,
               const std::vector<int>& outputs);

// Equal strips of one graph have equal texts.
std::string key_of(const Strip& s);

void fill_constants(Strip& s, const ir::Graph& g);

}  // namespace assay::compiler
