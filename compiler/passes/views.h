// Tensors that lie inside others, so that no step moves them: reshapes, slices, and what is joined.
//
// Why: a step that reads one slice of a tensor is another program for each slice. A step that joins
// tensors computes nothing. Where a part is contiguous in storage, a step's argument begins inside
// its tensor (Step::begins in ir/plan.h).
// Left alone: parts of constants and of padded tensors, and parts that begin at no multiple of 64
// bytes. A tensor that someone reads as a whole has no slices: a fused step may keep it on the
// chip.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/passes/choose_layouts.h"

namespace assay::compiler {

// Of a tensor along its outermost dimension: `extent` positions from `begin` on.
struct Slice {
  int dim = 0;
  int64_t begin = 0, extent = 0;
  auto operator<=>(const Slice&) const = default;
};

// What a node reads of a tensor, rounded to blocks of its layout; nullopt: all, or it is not told.
std::optional<Slice> slice_read(const LaidOut& laid, const ir::Node& n, int tensor);

// Does the node only put tensors behind each other, along the outermost dimension of its output?
bool joins(const LaidOut& laid, const ir::Node& n);

// Where a tensor lies.
struct Stored {
  int tensor = -1;                  // in whose storage
  int64_t begin = 0, elements = 0;  // of that storage
  bool operator==(const Stored&) const = default;
};

// Do they have elements in common?
bool overlap(const Stored& a, const Stored& b);

// Where readers of a tensor need different parts of it alone, each reads a slice.
LaidOut read_slices(LaidOut laid);

// Per tensor. An output of the graph keeps its own storage, so its producer writes there. A reshape
// from an input or output to an output stays a step.
std::vector<Stored> storage_of(const LaidOut& laid);

// Nodes whose output lies where an operand lies: no step computes them.
std::vector<bool> free_nodes(const ir::Graph& g, const std::vector<Stored>& storage);

}  // namespace assay::compiler
