// Layouts of whole tensors, chosen for the graph: activations with channels blocked by the vector
// width the target favours, with the padding their readers need as part of the storage, so that
// convolutions need no guards and no gathers. The graph's inputs and outputs stay row-major; where
// a reader wants an input otherwise, a copy node is put in between.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"
#include "ir/layout.h"

namespace assay::compiler {

struct LaidOut {
  ir::Graph graph;                  // with copies inserted
  std::vector<ir::Layout> layouts;  // per tensor; constants: row-major (programs pack them)
};

// `block`: elements per vector; 1: no blocking. `free_io`: inputs and outputs take the layout their
// neighbours like best too (operators on their own).
LaidOut choose_layouts(ir::Graph graph, int64_t block, bool free_io);

// `laid` after nodes were added: their new tensors lie row-major.
LaidOut with_new_tensors_laid_out(LaidOut laid);

// The node and nothing else, to be looked at alone; values of constants are left out.
LaidOut alone(const LaidOut& laid, const ir::Node& n);

// Is the second of two ways to the same result the faster one?
using Faster = std::function<bool(const LaidOut& now, const LaidOut& then)>;

}  // namespace assay::compiler
