// The register tiles of scans, scatters, sorts and tuple reductions: the loops of the kind, inside
// the loops over independent axes. Points of the tile are independent, each with accumulators of
// its own; lanes lie along an independent axis, or share the terms of a row. Internal to lower/.
#pragma once

#include "lower/lowering.h"

namespace assay::lower {

// Emits whatever the kind of the anchor asks for. Pre: it is no expression.
void emit_kind(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out);

void emit_scan(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out);
void emit_scatter(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out);
void emit_sort(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out);
void emit_tuple(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out);

}  // namespace assay::lower
