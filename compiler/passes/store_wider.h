// Numbers of f16 and bf16 between operators, and weights, stored as f32.
//
// Why: lanes that compute in f32 convert each number when they load it, and a product loads its
// operands many times. Stored wider, they take twice the memory and no conversion. Which costs more
// depends on the chip and the model: `faster` decides among all as they are, weights wider, and all
// wider. Values are the same or closer to the exact ones. Inputs and outputs keep their types.
#pragma once

#include "compiler/passes/choose_layouts.h"

namespace assay::compiler {

// `block`: as for choose_layouts.
ir::Graph store_wider(ir::Graph g, int64_t block, const Faster& faster);

}  // namespace assay::compiler
