// What a target allows a program to be, with reasons: pruning by limits (Romou, MobiCom'22).
#pragma once

#include "hwdesc/target.h"
#include "ir/program.h"
#include "support/diag.h"

namespace assay::lower {

// Why a program can not be lowered for a target; empty: it can. Structure (ir::verify), element
// types, vector widths the dialect can spell, live vectors against the register file, staging of
// guarded or non-affine reads, waves of a group.
Diags legal(const ir::Program& p, const hwdesc::Target& target);

// Vector registers alive in the register tile's body: accumulators, row-invariant operands, one
// splat. `lane_vectors`: register tile extent along the vector axis in vectors.
int64_t live_vectors(const ir::Program& p);

// Vectors beside those that the epilogue reads alike in every turn of the loop around the
// reduction, its constants too: compilers load them before it, and keep them in registers all
// through it. Too many cost time, no more.
int64_t hoisted_vectors(const ir::Program& p);

// The part of `legal` that differs between programs of one tile-graph: vector widths, registers,
// staging, lengths of loops. For ranking many programs whose structure is known to be sound.
Diags over_limits(const ir::Program& p, const hwdesc::Target& target);

}  // namespace assay::lower
