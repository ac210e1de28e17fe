// rProgram -> loop kernel: the code that is really printed.
//
// One scheme for every node: loops over tiles from the group's down to the register tile; the
// register tile fully unrolled over named vector accumulators; reads that move with the vector axis
// become vector loads (gathers where lanes are not neighbours), others splats; staged operands are
// copied when their region changes; the epilogue chain is applied to the accumulators before the
// one store. Partial tiles at the end of an axis get a body of their own, so that the main body has
// no conditions in it.
#pragma once

#include "hwdesc/target.h"
#include "ir/kernel.h"
#include "ir/program.h"
#include "support/result.h"

namespace assay::lower {

// Pre: legal(p, target) is empty. Errors: what legal says.
Result<ir::Kernel> lower(const ir::Program& p, const hwdesc::Target& target);

}  // namespace assay::lower
