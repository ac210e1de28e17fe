// Program -> loop kernel: the code that is printed.
//
// One scheme for every node. Loops walk tiles from the group's down to the register tile, which is
// fully unrolled over named vector accumulators. Reads that move with the vector axis become vector
// loads, or gathers where lanes are not neighbours; others become splats. Staged operands are
// copied when their region changes. The epilogue is applied to the accumulators before the one
// store. A partial tile at the end of an axis gets its own body, so that the main body has no
// conditions. The register tile of a scan, a scatter, a sort or a tuple reduction holds the loops
// of its kind. A group of a program with producers runs the loops of each of them, then its own.
#pragma once

#include "hwdesc/target.h"
#include "ir/kernel.h"
#include "ir/program.h"
#include "support/result.h"

namespace assay::lower {

// Errors: those of legal(p, target).
Result<ir::Kernel> lower(const ir::Program& p, const hwdesc::Target& target);

// The same for counting: of a scan, a scatter, a sort, or a program with a matrix instruction that
// some target can run.
ir::Kernel kernel_for_counting(const ir::Program& p);

}  // namespace assay::lower
