// What a target can run of a program with producers. Internal to lower/.
#pragma once

#include "hwdesc/target.h"
#include "ir/program.h"
#include "support/diag.h"

namespace assay::lower {

// Faults of each of the programs on its own, and of what they share: tiles that the memory of their
// edge does not hold, groups of different waves. Pre: ir::verify(p) is empty.
Diags over_limits_together(const ir::Program& p, const hwdesc::Target& target);

// What no estimate honours: of each program, and a memory that is not there or does not hold a
// tile.
Diags unpriceable_together(const ir::Program& p, const hwdesc::Target& target);

}  // namespace assay::lower
