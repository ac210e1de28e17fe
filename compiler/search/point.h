// A program as independent coordinates, which LegalSpace draws and steps along. Internal to
// compiler/.
#pragma once

#include <optional>
#include <vector>

#include "compiler/search/space.h"

namespace assay::compiler {

struct Point {
  int vector_axis = -1;
  int vector_width = 1;
  std::vector<std::vector<int64_t>> extents;  // [tile level][axis]
  std::vector<std::vector<int>> orders;       // [tile level]: all axes
  std::vector<int> staged;   // per read of the anchor: tile level of its copy, or -1
  std::vector<bool> packed;  // per tensor: a constant stored in the nest's order
  int prefetch = 0;
};

// Tile levels a drawn point has: group, block, registers, and the strip of a blocked reduce axis.
int levels_of(const Space& s);

ir::Program program_of(const Space& s, const Point& point);
Point point_of(const Space& s, const ir::Program& p);

}  // namespace assay::compiler
