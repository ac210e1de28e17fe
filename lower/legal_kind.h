// What programs of other kinds than expressions may be (kinds.h). Internal to lower/.
#pragma once

#include "ir/program.h"

namespace assay::lower {

// The loops of a kind read their operands where they lie, in one worker. `threads`: lanes that are.
void check_kind(const ir::Program& p, int threads, Diags& out);

// Vectors that are live in a step of a tuple reduction: the states of all points, and of one what
// the step shares, its reads and the state after it.
int64_t live_states(const ir::TupleReduction& tuple, int reads, int64_t points);

}  // namespace assay::lower
