// What is wrong with a node's kind. Internal to ir/.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace assay::ir {

// Empty: nothing. Pre: its axes fit its output; its body uses operands and axes that it has.
std::vector<std::string> faults_of_kind(const Graph& g, const Node& n);

// What is structurally wrong with a tree of the node that reads operands 0 to `operands` - 1;
// empty: nothing.
std::string fault_of(const Scalar& s, const Node& n, size_t operands);

}  // namespace assay::ir
