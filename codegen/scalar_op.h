// One operation on one lane, with the rounding of its element type. Internal to codegen.
#pragma once

#include "ir/kernel.h"

namespace assay::codegen {

// Lanes of every type are carried as doubles, which hold f32 values and integers below 2^53
// exactly, and of packed types the bits. f16 and bf16 are computed in f64 and rounded once: sums,
// products, quotients and roots are correctly rounded, and so is fma, which rounds to odd first.
double apply_scalar(ir::ValueOp op, ir::DType t, double a, double b, double c);

// A number as an element of a type: rounded, and repeated in a packed one.
double number_in(ir::DType t, double number);

}  // namespace assay::codegen
