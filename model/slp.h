// Scalar programs whose kernel language's compiler makes vectors of the same operation on the
// neighbouring elements that a register tile holds (superword-level parallelism: Larsen,
// Amarasinghe, PLDI 2000).
#pragma once

#include <optional>

#include "ir/program.h"
#include "lower/count.h"

namespace assay::model {

// The axis along which the output's elements lie side by side; none: its layout splits them.
std::optional<int> slp_axis(const ir::Program& p);

// Lanes of the vectors that are made, at most `lanes`; 1: none, since the program has vectors of
// its own, its neighbours are too few, or an operand's do not lie side by side.
int slp_lanes(const ir::Program& p, int lanes);

// Loads of a group's copies that step by one word in the unrolled loop of threads' code: `words` of
// them are one, where rows begin at multiples of as many.
lower::Counts with_merged_loads(const ir::Program& p, int words, lower::Counts counts);

// What is executed once `lanes` operations are one. Copies of staged operands stay as they are
// (copies.h).
lower::Counts joined(const ir::Program& p, const lower::Counts& counts, int lanes);

}  // namespace assay::model
