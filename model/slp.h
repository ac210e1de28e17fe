// Scalar programs that a kernel language's compiler vectorises, over the neighbouring elements of a
// register tile (superword-level parallelism: Larsen, Amarasinghe, PLDI 2000); and neighbouring
// loads that it merges.
#pragma once

#include <optional>

#include "ir/program.h"
#include "lower/count.h"

namespace assay::model {

// The axis along which the output's elements are contiguous. nullopt: its layout splits them.
std::optional<int> slp_axis(const ir::Program& p);

// Lanes of the vectors that are made, at most `lanes`. 1: none, since the program has vectors, a
// tile has too few neighbours, or an operand's are not contiguous.
int slp_lanes(const ir::Program& p, int lanes);

// Loads of a scratchpad's copies that step by one word in an unrolled loop of threads: `words` of
// them become one, where rows begin at multiples of as many.
lower::Counts with_merged_loads(const ir::Program& p, int words, lower::Counts counts);

// What is executed once `lanes` operations are one. Copies of staged operands are not vectorised
// (copies.h).
lower::Counts with_slp(const ir::Program& p, const lower::Counts& counts, int lanes);

}  // namespace assay::model
