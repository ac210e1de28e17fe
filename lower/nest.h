// The loop nest of a program, flattened: the loops that lowering emits, in its order, and that the
// model's closed forms count.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/kernel.h"
#include "ir/program.h"

namespace assay::lower {

// One loop: walks tiles of level `level` along `axis` inside the enclosing tile.
struct Loop {
  int level = 0;
  int axis = 0;
  int64_t tile = 1;   // extent of the tile it walks
  int64_t trips = 1;  // tiles in a full enclosing tile, a partial one included
  bool reduce = false;
  bool group = false;  // its variable is decoded from the group id
  bool wave = false;   // its variable is decoded from the wave id: waves run its tiles concurrently
  bool is_sequential() const { return !group && !wave; }
  bool operator==(const Loop&) const = default;
};

struct Nest {
  std::vector<Loop> loops;  // outermost first; loops with one trip and no remainder are left out
  // loops[first_inner..] are reduce loops inside the lifetime of the accumulators. Reduce loops
  // before them store their partial sums in the output.
  size_t first_inner = 0;
};

Nest nest_of(const ir::Program& p);

// The nest in the program's own order, as one worker would walk it. Caches see this order, since a
// line that one wave fetches is cached for the others.
Nest walk_of(const ir::Program& p);

// Do waves compute whole register tiles, past the end of an axis as well? Waves that share copies
// meet at barriers, so all of them take the same path. Elements past the end are not stored.
bool computes_whole_tiles(const ir::Program& p);

// The extent of an axis that register tiles cover: rounded up to the last wave's tile where tiles
// are whole.
int64_t computed_extent(const ir::Program& p, int axis);

// The tile that encloses level `level` along `axis`: the whole axis for level 0.
int64_t enclosing_extent(const ir::Program& p, int level, int axis);

// Is a loop of the kernel in effect an If: does it run at most once, since a partial tile around it
// may hold no full one?
bool is_condition(const ir::Program& p, const Nest& nest, size_t loop);

// Does the address of read `read` of the anchor change with `axis`?
bool reads_axis(const ir::Program& p, int read, int axis);

// The loop that the copy of a staging follows (position in Nest::loops, -1: before all). It is the
// last loop of its level or an outer one that moves the operand's region.
int staging_place(const ir::Program& p, const Nest& nest, const ir::Staging& s);

// Positions inside a tile of a level, per axis, past the end of the axis where it is computed
// there.
std::vector<ir::Range> tile_ranges(const ir::Program& p, int level);

// Extents per dimension of the operand's region that one tile of the staging's level needs.
std::vector<int64_t> staged_shape(const ir::Program& p, const ir::Staging& s);

// The type of a staged copy's elements. A copy converts once what the reduction reads many times;
// a matrix instruction takes its operands as they are, and so do movers and copies by a mapping.
ir::DType staged_type(const ir::Program& p, const ir::Staging& s);

// The source's contiguous dimension, where a staging is copied in vectors along it; -1: element by
// element. Vectors need aligned origins and equidistant lanes on both sides. They must divide the
// region, unless it spans the dimension.
int copy_vector_dim(const ir::Program& p, const ir::Staging& s);

// Steps (vectors along that dimension, else elements) per block of the copy's layout along `dim`.
// The source's blocks count where the copy has none and regions begin at one. 0: a single block.
int64_t copy_block(const ir::Program& p, const ir::Staging& s, int dim);

// Distance in elements between neighbours along logical dimension `dim` in a layout, for vectors of
// `width` that start at multiples of it; nullopt: they are not equidistant.
std::optional<int64_t> lane_stride(const ir::Layout& layout, std::span<const int64_t> shape,
                                   int dim, int width);

// The same at an index, along an axis that may move several of its dimensions; 0: none of them.
// Lanes that share the value of a division are one position: of `o/64`, 16 lanes at a multiple of
// 16. `ranges`: the values of all axes.
std::optional<int64_t> lane_stride(const ir::Layout& layout, std::span<const int64_t> shape,
                                   std::span<const ir::Index> index, int axis, int width,
                                   ir::Ranges ranges);

// The index at a vector of `width` lanes along `axis` that starts at a multiple of it: the number
// of the vector is variable ranges.size(), the lane the one after it.
struct VectorIndex {
  std::vector<ir::Index> at;      // per dimension
  std::vector<ir::Range> ranges;  // of the axes and the two variables
  int vector = -1, lane = -1;     // the variables
};
VectorIndex vector_index(std::span<const ir::Index> index, int axis, int width, ir::Ranges ranges);

// Distance in elements between the lanes of such a vector; nullopt: they are not equidistant.
std::optional<int64_t> lane_stride(const ir::Layout& layout, std::span<const int64_t> shape,
                                   const VectorIndex& v);

// A condition on a position that all lanes of a vector share, which holds where those inside the
// tensor are in [0, size). nullopt: lanes differ in that. `lane`: the variable of the lanes;
// `whole`: the values of the index inside the tensor.
std::optional<ir::Condition> shared_condition(const ir::Index& at, int64_t size,
                                              const ir::Range& whole, int lane, int width,
                                              ir::Ranges ranges);

// Unroll factor of a reduction over staged copies in threads' code, so that compilers can merge
// loads of neighbouring elements; 0: not unrolled.
int unrolled_steps(const ir::Program& p);

// Are there reduce loops outside the accumulators' lifetime, with partial sums in the output
// buffer?
bool has_partial_sums(const Nest& nest);

// How often each tile of the output is updated: the product of those loops' tiles, 1 without them.
double visits(const ir::Program& p, const Nest& nest);

// How a sort walks its terms (lower/sort.cpp): all of them at once, or block by block where a few
// of many are wanted. Each lane sorts a row of its own, or, with lanes along the order, its share
// of one row.
struct SortPlan {
  int64_t terms = 0;     // that a lane sorts
  int64_t block = 0;     // terms that are sorted at once; 0: no sort
  int64_t elements = 0;  // of each of two arrays in scratch, keys and positions
  double walks = 0;      // through these arrays, to sort one vector
  int shares = 1;        // lanes that share a row
  int64_t kept = 0;      // first terms of each share that are merged, a power of two
};
SortPlan sort_plan(const ir::Program& p);

// Elements of the scratch in which lanes that share the rows of a tuple reduction meet: a vector
// per component of each row of the register tile. 0: no lanes share a row.
int64_t shared_state(const ir::Program& p);

// Are partial sums prefetched when a tile begins and added when it ends? Otherwise they initialise
// the accumulators, and the first multiply-add waits for them.
bool adds_late(const ir::Program& p, const Nest& nest);

}  // namespace assay::lower
