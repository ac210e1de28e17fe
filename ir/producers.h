// Programs of one tile-graph: which tile of each producer a group makes. What a consumer's group
// tile reads of a tensor (the propagation of Welder, OSDI'23, section 4.1) is the producer's group
// tile. Where readers' tiles move, the tiles of the tensor are disjoint, so that nothing is
// computed twice for it.
//
// What is kept on the chip has a layout that holds one tile: along a dimension of which a group has
// tiles of 32, `0%32`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/program.h"

namespace assay::ir {

// The producers' programs in order, the program itself without producers last.
struct Member {
  Program program;
  // Per tensor of program.graph, its id in the graph of the whole; -1: it does not touch it, or
  // passes it on in a register.
  std::vector<int> tensors;
};
std::vector<Member> members_of(const Program& p);

// The tensor of the whole that a producer makes; -1: it names none.
int passed_tensor(const Producer& producer);
// Does a producer make it?
bool is_made(const Program& p, int tensor);
// Does a producer make it, and is it an output of the step as well? Then it lies in device memory
// as a whole, and a group reads its own tile of it there.
bool is_stored(const Program& p, int tensor);
// Does a producer make it, and does nothing but a tile of it exist?
bool is_passed(const Program& p, int tensor);

// Of a tensor, the axis of the program's anchor whose group tile says which tile of each dimension
// a group reads, and the tile's extent; axis -1: all of it.
struct NeededDim {
  int axis = -1;
  int64_t extent = 1;
  bool operator==(const NeededDim&) const = default;
};
using NeededTile = std::vector<NeededDim>;

// What a member reads of a tensor of its graph in one group. `axes`: per axis of its anchor, the
// axis of the whole program's anchor that its group tiles move with, or -1. Errors: tiles that
// overlap (a halo) or leave gaps, positions known only at run time, two reads that need different
// tiles.
Result<NeededTile> needed_tile(const Program& member, std::span<const int> axes, int tensor);

// Per member and axis of its anchor, the axis of the whole program's anchor with whose group tiles
// its own move; -1: the axis is whole. Errors: those of needed_tile, a tile that is not what is
// read, a tensor that is read before it is made, or by nobody.
Result<std::vector<std::vector<int>>> group_axes(const Program& p);

// The layout of one tile: `layout` of the tensor with the tiled dimensions' outermost parts cut to
// the tile. Pre: blocks of the layout divide the tile.
Layout tile_layout(Layout layout, std::span<const NeededDim> tile, std::span<const int64_t> shape);

// Bytes of the tile that a producer keeps on the chip, or of all that it stores.
int64_t passed_bytes(const Program& p, const Producer& producer);

// All nodes of the tile-graph as one graph. Tensors keep their ids; inputs are those that no
// program of it makes.
Graph whole_graph(const Program& p);

// What does not fit between the programs of the tile-graph. Pre: each of them verifies.
Diags producer_faults(const Program& p);

}  // namespace assay::ir
