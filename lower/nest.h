// The loop nest a program stands for, flattened: what lowering emits, in the order it emits it, and
// what the model's closed forms count. One truth for both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/program.h"

namespace assay::lower {

// One loop: walks tiles of level `level` along `axis` inside the enclosing tile.
struct Loop {
  int level = 0;
  int axis = 0;
  int64_t tile = 1;   // extent of the tile it walks
  int64_t trips = 1;  // tiles in a full enclosing tile, the partial one included
  bool reduce = false;
  bool group = false;  // decoded from the group id instead of being a loop
  bool wave =
      false;  // decoded from the wave's number: the waves of a group walk its tiles side by side
  bool is_opaque() const { return !group && !wave; }
  bool operator==(const Loop&) const = default;
};

struct Nest {
  std::vector<Loop> loops;  // outermost first; loops with one trip and no remainder are left out
  // loops[first_inner..] are reduce loops inside the life of the accumulators; reduce loops before
  // it pass their partial sums through the output.
  size_t first_inner = 0;
};

Nest nest_of(const ir::Program& p);

// The same as one worker would walk it, and as memories see it: the loops that a group's waves
// share out stand where the program orders them, since what one wave brings near is there for the
// others.
Nest walk_of(const ir::Program& p);

// Do waves compute whole register tiles, past the end of an axis as well? They meet around copies,
// so all of them take the same way; what lies past the end is not stored.
bool computes_whole_tiles(const ir::Program& p);

// The extent of an axis as register tiles are computed along it: up to the last wave's tile, where
// they are whole.
int64_t computed_extent(const ir::Program& p, int axis);

// The tile that encloses level `level` along `axis`: the whole axis for level 0.
int64_t enclosing_extent(const ir::Program& p, int level, int axis);

// Does a loop of the kernel run once or not at all, as the partial tile around it has no full one?
bool is_condition(const ir::Program& p, const Nest& nest, size_t loop);

// Does the address of read `read` of the anchor change with `axis`?
bool reads_axis(const ir::Program& p, int read, int axis);

// After which loop (position in Nest::loops, -1: before all) the copy of a staging stands: the last
// loop of its level or further out that moves the operand's region.
int staging_place(const ir::Program& p, const Nest& nest, const ir::Staging& s);

// Positions inside a tile of a level, per axis, as it is computed.
std::vector<ir::Range> tile_ranges(const ir::Program& p, int level);

// Extents of the region of the operand that one tile of the staging's level needs, per dimension.
std::vector<int64_t> staged_shape(const ir::Program& p, const ir::Staging& s);

// Is the copy of a staging made of vectors along the source's contiguous dimension (returned), or
// of single elements (-1)? Vectors need aligned origins, whole vectors inside the region unless it
// spans the dimension, and equidistant lanes on both sides.
int copy_vector_dim(const ir::Program& p, const ir::Staging& s);

// Steps (vectors along that dimension, else elements) behind which a copy, or the tensor it is made
// of where regions begin with one, begins a new block along a dimension; 0: it lies in one.
int64_t copy_block(const ir::Program& p, const ir::Staging& s, int dim);

// Distance in elements between neighbours along logical dimension `dim` in a layout, for vectors of
// `width` that start at multiples of it; nullopt: they are not equidistant.
std::optional<int64_t> lane_stride(const ir::Layout& layout, std::span<const int64_t> shape,
                                   int dim, int width);

// The same at an index, along an axis that may move several of its dimensions; 0: none of them.
std::optional<int64_t> lane_stride(const ir::Layout& layout, std::span<const int64_t> shape,
                                   std::span<const ir::Index> index, int axis, int width);

// Steps of the innermost loop of a reduction over copies that threads' code unrolls, so that what
// lies side by side in a row can be one load; 0: it does not.
int unrolled_steps(const ir::Program& p);

// Reduce loops outside the accumulators' life: partial sums go through the output buffer.
bool has_partial_sums(const Nest& nest);

// Times that each tile of the output is taken up: tiles that those loops walk, 1 where there are
// none.
double visits(const ir::Program& p, const Nest& nest);

// Are partial sums asked for when a tile begins and added when it ends? Else they begin the
// accumulators, and nothing is multiplied before they have arrived.
bool adds_late(const ir::Program& p, const Nest& nest);

}  // namespace assay::lower
