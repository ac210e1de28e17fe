// The order in which nodes can be read: each after those whose outputs it needs.
//
// A depth-first search in the order of the file, so that nodes which are in order stay where they
// are. What a node's subgraphs take from the graph around them counts as its operands.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/import/proto.h"

namespace assay::import {

using Nodes = std::vector<const onnx::NodeProto*>;

struct NodeOrder {
  Nodes nodes;
  std::vector<Nodes> cycles;  // each node reads an output of the next; none is in `nodes`
};

NodeOrder order_of(const Nodes& nodes);

// The names that a node reads, with those that its subgraphs take from the graph around them.
std::set<std::string> operands_of(const onnx::NodeProto& n);

}  // namespace assay::import
