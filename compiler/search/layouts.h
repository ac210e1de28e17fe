// The layouts that a choice gives: of constants that are packed for it, and of staged copies.
// Internal to search/.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/search/space.h"

namespace assay::compiler {

// The dimension that `axis` indexes by itself with stride 1, if it indexes no other; -1: none.
int sole_dim(const ir::Read& r, int axis);

// Unblocked reduce axes, then the positions within a block: the order of packed weights. `blocks`:
// per reduce axis whose operand is stored in blocks along it, the block.
std::vector<int> inner_reduce_order(const Space& s, const std::map<int, int64_t>& blocks);

// Of a packed constant: the order in which the nest reads it, vectors innermost.
ir::Layout packed_layout(const Space& s, const Choice& c, const ir::Read& r,
                         const ir::Layout& plain, const std::map<int, int64_t>& blocks);

// Of a staged copy.
ir::Layout staged_layout(const Space& s, const Choice& c, const ir::Read& r);

}  // namespace assay::compiler
