// Where tensors will lie, known before their programs are: lifetimes and layouts suffice.
#pragma once

#include <vector>

#include "compiler/search/tile_graphs.h"
#include "ir/plan.h"
#include "simulator/range.h"

namespace assay::compiler {

// Tensor `t` of the laid out graph as a plan has it, not placed yet.
ir::PlanTensor plan_tensor(const LaidOut& laid, int t, const ir::Layout& layout);

// Per tensor of the laid out graph, as `place` will place it. Constants, whose layouts construction
// chooses, lie behind the arena, each by itself.
std::vector<simulator::Range> ranges_of(const Problems& problems);

}  // namespace assay::compiler
