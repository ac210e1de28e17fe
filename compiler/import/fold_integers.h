// One node over integer constants, in wrapping 64-bit arithmetic: shapes, indices and their
// sentinels (INT64_MAX) do not survive a double.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"

namespace assay::import {

// `g`: one verified node whose operands are integer constants. The bytes of its output. Division
// rounds towards zero. Refuses operations that integers do not have, and division by zero.
std::vector<std::byte> fold_integers(const ir::Graph& g);

}  // namespace assay::import
