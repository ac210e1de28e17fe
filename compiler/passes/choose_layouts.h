// Layouts of whole tensors: channels of activations in blocks of one vector, and the padding
// that readers reach as part of the storage.
//
//   [n, c, y, x]   ->   [n, c/w, y, x, c%w] with pads in y and x
//
// Why: lanes of a convolution become contiguous without gathers, and its reads need no guards.
// Left alone: inputs and outputs of the graph stay row-major (a copy node converts an input), and
// so do constants, which programs pack themselves. Tensors without channels are not blocked.
// Source: blocked channels of Georganas et al., SC'18; a layout per tensor of the graph as in
// Romou, MobiCom'22, and Welder, OSDI'23.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/layout.h"

namespace assay::compiler {

struct LaidOut {
  ir::Graph graph;                  // with copies inserted
  std::vector<ir::Layout> layouts;  // per tensor; constants: row-major (programs pack them)
};

// `block`: elements per vector; 1: no blocking. `free_io`: inputs and outputs take the layout that
// suits their readers and writers, too (graphs of one operator).
LaidOut choose_layouts(ir::Graph graph, int64_t block, bool free_io);

// Gives a layout the padding that guarded readers of the tensor reach: of one value, that of the
// reader with the largest window.
void add_padding(const ir::Graph& g, int tensor, ir::Layout& layout);

// `laid` after nodes were added: new tensors are row-major.
LaidOut with_row_major_tensors(LaidOut laid);

// A graph of this node of `g` and its tensors, without the values of constants, to estimate it by
// itself. Tensors behind `layouts` are row-major.
LaidOut single_node(const ir::Graph& g, std::span<const ir::Layout> layouts, const ir::Node& n);

// Is `then` estimated faster than `now`? Both compute the same.
using Faster = std::function<bool(const LaidOut& now, const LaidOut& then)>;

}  // namespace assay::compiler
