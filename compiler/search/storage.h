// Where tensors will lie, before programs are chosen: lifetimes and layouts suffice. Construction
// needs it to tell which operands a cache still holds.
#pragma once

#include <vector>

#include "compiler/search/tile_graphs.h"
#include "ir/plan.h"
#include "simulator/range.h"

namespace assay::compiler {

// Tensor `t` of the laid out graph as a plan has it, not placed yet.
ir::PlanTensor plan_tensor(const LaidOut& laid, int t, const ir::Layout& layout);

// Per tensor of the laid out graph, as `place` will place it. Constants lie behind the arena, since
// construction chooses their layouts.
std::vector<simulator::Range> ranges_of(const TileGraphs& graphs);

}  // namespace assay::compiler
