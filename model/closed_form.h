// Closed forms of what a program's loop kernel executes: the same figures as lower::count, from the
// tiles alone, in a few microseconds. A property test holds the two equal.
//
// Along an axis of extent E with register tiles of t there are ceil(E/t) tiles; a read that moves
// with the axis is loaded E times along it (NV = the tiles' vectors on the vector axis), less what
// overlaps in a tile; one that does not, once per tile of the innermost loop over the axis that its
// load stands inside (lower/kept.h). Per kind of tile, full or last along each axis, all factors
// multiply.
#pragma once

#include "ir/program.h"
#include "lower/count.h"

namespace assay::model {

// Buffers are in the kernel's order: arguments, then staged copies. `iterations` counts whole
// register tiles and copies' loops are left out; prefetches and branches are not counted.
lower::Counts closed_form(const ir::Program& p);

}  // namespace assay::model
