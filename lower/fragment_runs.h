// Fragments that a wave loads together from runs of neighbours in scratch (ir::LoadFragment).
#pragma once

#include <optional>

#include "lower/instruction.h"

namespace assay::lower {

// An operand of a matrix product, as its fragments hold it.
struct FragmentSide {
  const ir::Fragment& fragment;
  int rows = -1, columns = -1;  // axes of the anchor
};
FragmentSide side_of(const MatrixProduct& product, int read);

// Do the runs of an operand's fragments lie along their rows, or their columns? nullopt: it is
// loaded register by register, since the instruction names no runs, or the operand's copy in
// scratch has none there, or not at multiples of their length.
std::optional<bool> runs_by_row(const ir::Program& p, const MatrixProduct& product, int read);

}  // namespace assay::lower
