// Where accesses lie in lines and in the blocks of layouts.
//
// Vector accesses that straddle cache lines: each takes two accesses of the load or store pipe.
//
// A vector of w elements at a position that is a multiple of w in its array never straddles when
// every stride that moves it is a multiple of w; rows of another length (1021 columns) put the
// vectors at all phases, and then 1 - 1/w of those as wide as a line straddle.
#pragma once

#include "ir/program.h"

namespace assay::model {

// Fraction of the vector accesses of an operand in `layout` that straddle a line of `line` bytes.
// `index`: of the read; the output's own axes for stores.
double straddling(const ir::Program& p, const ir::Layout& layout, const ir::Tensor& tensor,
                  const std::vector<ir::Index>& index, double line);

// Does a register tile cover parts of the blocks that the layout splits a dimension into? Then
// which block an element lies in, and where, is computed as the loops go.
bool inside_blocks(const ir::Program& p, const ir::Layout& layout,
                   const std::vector<ir::Index>& index);

}  // namespace assay::model
