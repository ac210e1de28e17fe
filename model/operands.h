// Loads that come with the operation that needs them, as instruction sets with operands in memory
// have them: what one operation takes, and no other. What several take goes to a register first, by
// an instruction of its own.
#pragma once

#include "ir/program.h"
#include "lower/count.h"

namespace assay::model {

// Load instructions of `counts`, in which `joined` scalar operations are one (model/joined). Of a
// read that is loaded half as often as operations take it, or less, none; between, the part that
// must be taken once only, if none is taken more than twice; of elements for all lanes, the part
// that is written so. Neither copies of staged operands nor sums that are taken up again are among
// them, nor lanes that lie apart.
double operands_in_memory(const ir::Program& p, const lower::Counts& counts, int joined);

}  // namespace assay::model
