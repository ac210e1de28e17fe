// Where accesses lie in cache lines and in the blocks of layouts.
//
// A vector access that straddles a line takes two accesses of the load or store port. A vector of w
// elements never straddles where every stride that moves it is a multiple of w. Rows of another
// length (1021 columns) put the vectors at all phases: then 1 - 1/w of those as wide as a line do.
#pragma once

#include "ir/program.h"

namespace assay::model {

// Fraction of the vector accesses of an operand in `layout` that straddle a line of `line` bytes.
// `index`: of the read; the output's own axes for stores.
double straddling(const ir::Program& p, const ir::Layout& layout, const ir::Tensor& tensor,
                  const std::vector<ir::Index>& index, double line);

// Does a register tile cover parts of the blocks that the layout splits a dimension into? Then each
// iteration computes an element's block and its position there.
bool inside_blocks(const ir::Program& p, const ir::Layout& layout,
                   const std::vector<ir::Index>& index);

}  // namespace assay::model
