// Where tensors lie: one arena for everything that is written, reused as lifetimes end; one file for
// constants.
#pragma once

#include "ir/plan.h"

namespace assay::compiler {

// Fills offset and bytes of all tensors, and the plan's arena_bytes and weights_bytes. Inputs and
// outputs are alive throughout. A zeroed tensor (its padding must stay zero) shares storage only with
// tensors of the same shape and layout, whose writes spare the same padding. Best fit by size,
// largest first; offsets are multiples of 64 bytes.
void place(ir::Plan& plan);

}  // namespace assay::compiler
