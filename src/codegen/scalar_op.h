// One operation on one lane, with the rounding of its element type. Internal to codegen.
#pragma once

#include "ir/kernel.h"

namespace assay::codegen {

// Lanes of every type are carried as doubles: f32 values and integers below 2^53 are exact in them.
double apply_scalar(ir::ValueOp op, ir::DType t, double a, double b, double c);

}  // namespace assay::codegen
