// Closed forms of what a program's loop kernel executes: the same figures as lower::count, from the
// tiles alone, in a few microseconds. A property test holds the two equal.
//
// Along an axis of extent E with register tiles of t there are ceil(E/t) tiles. A read that moves
// with the axis is loaded E times along it, less what overlaps in a tile; on the vector axis by
// vectors. One that does not move is loaded once per tile of the innermost loop over the axis that
// its load stands inside (lower/redundant_loads.h). Per class of tile, full or last along each
// axis, all factors multiply. Of scans, scatters and sorts the kernel itself is counted.
#pragma once

#include "ir/program.h"
#include "lower/count.h"

namespace assay::model {

// Buffers are in the kernel's order: arguments, then staged copies. `iterations` counts whole
// register tiles and leaves out copies' loops. Prefetches and branches are not counted.
// Where lanes of a wave end inside a fragment, loads of an epilogue under their conditions count
// with the others.
lower::Counts closed_form(const ir::Program& p);

}  // namespace assay::model
