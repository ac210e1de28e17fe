// Products of bytes of types that no matrix instruction of the chip multiplies, from those that one
// does. With d = 128:
//
//   sum a b   ->   sum (a + d) b - d sum b      Both are i8; a + d is u8.
//
//   sum a b   ->   sum a (b - d) + d sum a      Both are u8; b - d is i8.
//
// Why: x86's dot products multiply u8 by i8, and without them bytes are multiplied in i32. The sum
// of one operand is a constant where that operand is, else one more small reduction. Where all
// readers allow it, whoever rounds the shifted operand writes it shifted. Left alone: what an
// instruction multiplies as it is, and where `faster` denies it.
// Source: the compensation of oneDNN's int8 convolutions (oneDNN, "Nuances of int8 computations").
#pragma once

#include <span>

#include "compiler/passes/choose_layouts.h"
#include "ir/matrix.h"

namespace assay::compiler {

// `instructions`: those of the chip. `block`: as for choose_layouts.
ir::Graph shift_operands(ir::Graph g, std::span<const ir::MatrixInstruction> instructions,
                         int64_t block, const Faster& faster);

}  // namespace assay::compiler
