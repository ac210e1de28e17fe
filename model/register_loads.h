// Vector loads of a read whose elements stay in registers (lower/redundant_loads.h).
//
// An element is loaded once per register tile, outside all loops that do not move it. Tiles are
// counted by class: full ones, and the last one along each axis, which may be partial. Of tiles
// that read several groups of a grouped convolution the first stands for all.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"
#include "lower/nest.h"
#include "model/fragment_grid.h"

namespace assay::model {

struct LoadCount {
  double n = 1, lanes = 1;  // vectors, and elements in them
};

// Loads of `r` inside the first `loops` loops of the nest. `fixed`: the last loop that the load can
// not leave; -1: none. Axes from `axes` on are not walked; the others are walked up to `extents`,
// by the registers of `grid`.
LoadCount register_loads(const ir::Program& p, const lower::Nest& nest, const ir::Read& r,
                         const std::vector<int64_t>& extents, size_t axes, size_t loops, int fixed,
                         const Grid& grid);

}  // namespace assay::model
