// Integers that stand for numbers, (q - zero) scale, and products of them.
//
//   sum (a - za)(b - zb) = sum a b - za sum b - zb sum a + K za zb
//
// The products are those of the bytes as they are stored, which vector instructions multiply; what
// is added behind them does not depend on both operands. Constant operands are shifted instead, so
// that zb is 0, where i8 holds them then.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/import/context.h"

namespace assay::import {

void require_bytes(const Context& c, int tensor);  // refuses others than i8 and u8

// The zero point of an operand, scalar or along the dimension that a product keeps. -1: 0.
struct WholeOperand {
  int tensor = -1, zero = -1;
};

// A matrix with its dimensions swapped; a constant becomes another one.
int swapped(Context& c, int matrix);

// Conv of the current node's attributes, in i32. Zero points of x are one number, of w one number
// or one per filter. `bias` in i32, -1: none.
int whole_convolution(Context& c, WholeOperand x, WholeOperand w, int bias);
// Numpy's matmul in i32; a: one zero point, or one per row; b: one, or one per column.
int whole_product(Context& c, WholeOperand a, WholeOperand b, int bias);

// x * (product of the `times`) / (product of the `over`), along an axis of x; -1: one number.
// Constant factors are multiplied in f32 beforehand.
int rescaled(Context& c, int x, const std::vector<int>& times, const std::vector<int>& over,
             int axis, std::string suffix);
// round(x) + zero, as the type of the zero point; without one u8.
int quantised(Context& c, int x, int zero, ir::DType type, std::string suffix);
// (q - zero) * scale in f32, scale and zero one number each.
ir::Scalar dequantised_operand(Context& c, int q, int scale, int zero, const Shape& to,
                               std::vector<ir::Read>& reads);

// f32 as u8, with a scale and a zero point of its own range.
struct DynamicallyQuantised {
  int q = -1, scale = -1, zero = -1;
};
DynamicallyQuantised quantised_dynamically(Context& c, int x);

// The products of a node whose operands come of DequantizeLinear, in i32 and scaled behind. A bias
// of integers in the scale of the products is added to their sum; then `bias` becomes -1. nullopt:
// they are no such operands, scales and zero points are not constants, or scales lie along the sum.
std::optional<int> dequantised_convolution(Context& c, int x, int w, int& bias);
// `transposed`: b is.
std::optional<int> dequantised_product(Context& c, int a, int b, bool transposed, int& bias);

}  // namespace assay::import
