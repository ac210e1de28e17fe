// Where along each axis a register tile's values lie: every element, vectors, or registers of
// fragments. Closed forms count these positions instead of walking a kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"
#include "lower/instruction.h"

namespace assay::model {

struct GridAxis {
  int64_t step = 1;               // elements of one vector or fragment
  std::vector<int64_t> at = {0};  // its registers' first elements
  int64_t numbers = 1;            // of a register, along this axis
  // Of an operand's reduction: the fragment whose lanes may lie beyond its end.
  const ir::Fragment* fragment = nullptr;
  bool rows = false;  // along its rows
};
using Grid = std::vector<GridAxis>;  // per axis of the anchor

// Elements, and vectors along the vector axis.
Grid grid_of_vectors(const ir::Program& p);
// One point per fragment, so per instruction.
Grid grid_of_instructions(const ir::Program& p, const lower::MatrixProduct& product);
// Values of the results that a lane holds.
Grid grid_of_results(const ir::Program& p, const lower::MatrixProduct& product);

// An operand's registers. `joined`: a register's numbers are neighbours in memory, which one load
// brings; else each number is loaded and put in its place.
struct OperandGrid {
  Grid grid;
  bool joined = true;
};
// `layout`, `shape`: of the buffer that is read, the tensor's or a staged copy's.
OperandGrid grid_of_operand(const ir::Program& p, const lower::MatrixProduct& product, int read,
                            const ir::Layout& layout, const std::vector<int64_t>& shape);

// Is the kernel's count a product of positions? Not where guards tell numbers of one register from
// each other.
bool has_closed_form(const ir::Program& p, const lower::MatrixProduct& product);

struct GridPosition {  // of a register, and the lanes in use along a vector
  int64_t first = 0, count = 1;
};
// Appends the positions in [from, from + extent). Where its end tells the numbers of a register
// from each other, they come one by one.
void add_positions(const GridAxis& axis, int64_t from, int64_t extent,
                   std::vector<GridPosition>& to);
// How many these are, and how many of them are such single numbers.
struct PositionCount {
  int64_t all = 0, single = 0;
};
PositionCount count_positions(const GridAxis& axis, int64_t extent);

}  // namespace assay::model
