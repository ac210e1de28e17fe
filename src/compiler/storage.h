// Where tensors will lie, known before their programs are: lifetimes and layouts suffice.
#pragma once

#include <vector>

#include "compiler/problems.h"
#include "simulator/range.h"

namespace assay::compiler {

// Per tensor of the laid out graph, as `place` will place it. Constants, whose layouts construction chooses, lie behind
// the arena, each by itself.
std::vector<simulator::Range> ranges_of(const Problems& problems);

}  // namespace assay::compiler
