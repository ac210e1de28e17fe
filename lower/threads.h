// Which programs with a mapping of threads are priced: products of two operands. Internal to
// lower/.
#pragma once

#include "hwdesc/target.h"
#include "ir/program.h"
#include "support/diag.h"

namespace assay::lower {

// Adds why a program with `threads` has no estimate on a target. Pre: ir::verify(p) is empty.
void check_threads(const ir::Program& p, const hwdesc::Target& target, Diags& out);

}  // namespace assay::lower
