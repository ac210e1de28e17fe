// Tiles that overlap: a group of a convolution behind a convolution reads rows that its neighbours
// read as well (a halo). The producer's tensor is rewritten as one of windows, of which each group
// has its own: h[c, y, x] becomes h'[c, g, l, x] with y = shift * g + low + l. Windows are
// disjoint, so all that holds of tiles holds of them; what two windows share is computed twice.
// Positions outside of the tensor hold what guarded reads give there, so reads of a window need no
// guard.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace assay::ir {

// What a group reads of one dimension: positions [low, low + extent) + shift * its number along
// `axis` of the program that the group's tiles follow from. axis -1: all groups read the same.
struct Window {
  int axis = -1;
  int64_t low = 0, extent = 1, shift = 0;
  int64_t groups = 1;
  bool operator==(const Window&) const = default;
};

struct Windows {
  std::vector<Window> dims;
  double fill = 0;         // of positions outside of the tensor
  bool is_filled = false;  // there are such positions
  bool operator==(const Windows&) const = default;
};

// Is the dimension one of disjoint tiles from 0 on, or all positions and no others?
bool is_tile(const Window& w, int64_t size);
bool are_tiles(const Windows& w, std::span<const int64_t> shape);

// What a program reads of a tensor in one group; no dimensions: nothing. `axes`: per axis of its
// anchor the axis of the whole that its group tiles move with, or -1. `stored`: along
// dimensions with padding there, what is read outside of the tensor is in the window, too. Errors:
// gaps between windows, positions known only at run time, reads that fill differently.
Result<Windows> needed_windows(const Program& member, std::span<const int> axes, int tensor,
                               const Layout& stored = {});

// Of two readers. Errors: they move with other groups, or fill differently.
Result<Windows> joined(const Windows& a, const Windows& b, const std::string& tensor);

// Where each dimension of the tensor is in the one of windows: dimension and, with groups of its
// own, the one of the windows before it.
struct WindowDims {
  std::vector<int> groups;  // -1: none
  std::vector<int> positions;
  std::vector<int64_t> shape;
};
WindowDims dims_of(const Windows& w, std::span<const int64_t> shape);

Layout window_layout(const Layout& layout, const Windows& w, std::span<const int64_t> shape);

// The graph of a producer, so that it makes the windows of its output. Errors: a chain whose nodes
// do not walk the same axes.
Result<Graph> making_windows(Graph g, const Windows& w);

// Windows that overlap in what a program makes: of dimension `dim`, in order of `dim - 1`.
struct Overlap {
  int dim = -1;
  int64_t groups = 1, extent = 1, shift = 1;
};
std::vector<Overlap> overlaps_of(const Program& producer);

// The graph of a reader of `tensor`. `axes` as above; `tile`: its group's tile, per axis.
void read_windows(Graph& g, int tensor, const Windows& w, std::span<const int> axes,
                  std::span<const int64_t> tile);

}  // namespace assay::ir
