// Loads that are folded into the operation that needs them, as memory operands of an instruction.
// What several operations take goes to a register first, by an instruction of its own.
#pragma once

#include "ir/program.h"
#include "lower/count.h"

namespace assay::model {

// Load instructions of `counts` that are memory operands; `slp_lanes` scalar operations are one
// there (model/slp). None of a read that is loaded at most half as often as operations take it;
// between, the part taken only once if none is taken more than twice. Of broadcast elements, the
// part that compilers fold. Copies of staged operands, reloaded partial sums and gathered lanes are
// not among them.
double operands_in_memory(const ir::Program& p, const lower::Counts& counts, int slp_lanes);

}  // namespace assay::model
