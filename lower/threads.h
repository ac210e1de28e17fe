// Which programs with a mapping of threads are priced, and printed: products of two operands.
// Internal to lower/.
#pragma once

#include "hwdesc/target.h"
#include "ir/program.h"
#include "support/diag.h"

namespace assay::lower {

// Adds why a program with `threads` has no estimate on a target. Pre: ir::verify(p) is empty.
void check_threads(const ir::Program& p, const hwdesc::Target& target, Diags& out);

// Adds why one that has an estimate has no kernel: threads that are no whole waves, and widths of
// runs that are not aligned.
void check_printed_threads(const ir::Program& p, const hwdesc::Target& target, Diags& out);

}  // namespace assay::lower
