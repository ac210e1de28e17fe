// Which steps of a plan wait for which.
#pragma once

#include <vector>

#include "ir/plan.h"

namespace assay::compiler {

// Per step, those before it that write what it reads, or touch what it writes; ascending, each
// once. Of tensors, not of their storage, which is placed later.
std::vector<std::vector<int>> dependencies_of(const ir::Plan& plan);

}  // namespace assay::compiler
