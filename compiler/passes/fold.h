// Folds maps, nodes that only move elements (reshape, transpose, slice, expand), into their readers
// or their producer.
//
// Why: a map costs a step that reads and writes its whole tensor and computes nothing. A transpose
// is composed into readers whose addresses stay affine. One that a reshape reads (attention's
// heads) is sunk into its producer, whose axes are reordered; composing both would divide by a
// head's size. Left alone: maps that fit neither, and a transpose whose product would read across
// the operand's storage (attention's keys): one transposing step costs less than strided lanes.
// Source: propagation of indices through nodes (Welder, OSDI'23, section 4.1).
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/layout.h"

namespace assay::compiler {

ir::Graph fold(ir::Graph g);

}  // namespace assay::compiler
