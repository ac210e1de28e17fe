// Which numbers random inputs of a graph may hold.
//
// Floats are uniform in (-1, 1). Integers are inputs of such a type (Graph::input_types), and those
// whose use is the first below. Their range follows from their use, traced from the graph's nodes
// back through copies, clamps, added constants and wrapped negative positions:
//
//   position of a lookup or scatter, compared with an axis   [0, extent)
//   1 - x: a mask                                            [0, 1]
//   divisor                                                  [1, 8]
//   boolean                                                  [0, 1]
//   other                                                    [-8, 8], without a sign [0, 8]
//
// Several uses: what all of them allow, while there is such a number.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace assay::toolkit {

// Per input, by position of Graph::inputs; nullopt: a float.
std::vector<std::optional<ir::Range>> input_ranges(const ir::Graph& graph);

// A line for people per input, such as "ids: uniform integers in [0, 30522)".
std::vector<std::string> describe_inputs(const ir::Graph& graph);

}  // namespace assay::toolkit
