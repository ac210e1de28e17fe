// Nodes that only move elements (reshape, transpose, slice, expand) and need no step: their readers
// read at the moved place, or the producer writes there, or, where the order of elements in memory
// stays, both names stand for the same storage.
//
// A transpose whose readers' addresses stay affine is composed into them. One that a reshape reads
// (attention's way back from heads to rows) is sunk into its producer instead, whose axes are
// reordered: reading through both at once would divide by the size of a head. What neither suits
// stays a step; so does a transpose whose product would read across the operand's storage (keys).
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/layout.h"

namespace assay::compiler {

ir::Graph fold_maps(ir::Graph g);

// Per tensor the one in whose storage it lies: its own, but for the output of a reshape between
// tensors that are stored row-major. An output of the graph keeps its storage, and its producer
// writes there; between an input and an output, or two outputs, the reshape stays.
std::vector<int> storage_of(const ir::Graph& g, const std::vector<ir::Layout>& layouts);

}  // namespace assay::compiler
