// Loads that come with the operation that needs them, as instruction sets with operands in memory have them: what one operation takes, and
// no other. What several take goes to a register first, by an instruction of its own.
#pragma once

#include "ir/program.h"
#include "lower/count.h"

namespace assay::model {

// Load instructions of `counts`, whose operations take `width` elements of the vector axis each. Of a read that is loaded half as often as
// it is needed, or less, none; between, the part that can be needed once only. Neither copies of staged operands nor sums
// that are taken up again are among them, nor lanes that lie apart, nor one element for all lanes: with an index in its address it takes the
// slots of a load again, which some compilers write and others do not.
double operands_in_memory(const ir::Program& p, const lower::Counts& counts, int width);

}  // namespace assay::model
