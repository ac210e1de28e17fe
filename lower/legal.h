// Whether a target can run a program, with reasons: pruning by limits (Romou, MobiCom'22).
#pragma once

#include "hwdesc/target.h"
#include "ir/program.h"
#include "support/diag.h"

namespace assay::lower {

// Why a program can not be lowered for a target; empty: it can. Structure (ir::verify), what is
// unpriceable, element types, vector widths the dialect can spell. Live vectors against the
// register file, staging of guarded or non-affine reads, waves of a group, copies ahead of their
// step.
Diags legal(const ir::Program& p, const hwdesc::Target& target);

// Why no estimate on a target is of this program, printed or not: it says what no estimate honours.
// Matrix instructions, split-k, stages without an asynchronous mover into a scratchpad, staged
// copies larger than the scratchpad. Threads over two axes: of another node than a product of f32,
// of operands in blocks, on chips whose lanes are no threads. Empty: there is none. Pre:
// ir::verify(p) is empty.
Diags unpriceable(const ir::Program& p, const hwdesc::Target& target);

// Vector registers live in the register tile's body: accumulators, row-invariant operands and one
// splat.
int64_t live_vectors(const ir::Program& p);

// Further vectors, of the epilogue's loads and constants that the loop around the reduction does
// not change. Compilers hoist them out of that loop, so they are live in it. Too many spill, but
// are legal.
int64_t hoisted_vectors(const ir::Program& p);

// The part of `legal` that differs between programs of one tile-graph: what is unpriceable, vector
// widths, registers, staging, trip counts. For ranking many programs of a verified structure.
Diags over_limits(const ir::Program& p, const hwdesc::Target& target);

}  // namespace assay::lower
