// Parts of a graph, for asking which of two ways to compute them is faster.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"

namespace assay::compiler {

// Is `then` estimated faster than `now`? Both are parts of a graph that compute the same.
using FasterGraph = std::function<bool(const ir::Graph& now, const ir::Graph& then)>;

// A graph of these nodes only. Names and numbers are those of no graph, so that equal parts are
// equal. What no node makes is an input, constants too. `inside`: per node.
ir::Graph part_with(const ir::Graph& g, const std::vector<bool>& inside);

}  // namespace assay::compiler
