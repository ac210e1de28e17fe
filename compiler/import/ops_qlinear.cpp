// Products of integers, and operators between quantised tensors: QLinearConv, QLinearMatMul,
// ConvInteger, MatMulInteger, DynamicQuantizeLinear.
//
//   q = round(acc * (scale of a * scale of b / scale of q)) + zero
//
// It is limited to what q's type holds.
#include <fmt/format.h>

#include <numeric>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/quantised.h"
#include "compiler/import/reduction.h"

namespace assay::import {

using ir::DType;
using ir::number;
using ir::Scalar;

void import_conv_integer(Context& c) {
  c.bind(0, whole_convolution(c, {c.input(0), optional_input(c, 2)},
                              {c.input(1), optional_input(c, 3)}, -1));
}

void import_matmul_integer(Context& c) {
  c.bind(0, whole_product(c, {c.input(0), optional_input(c, 2)}, {c.input(1), optional_input(c, 3)},
                          -1));
}

void import_qlinear_conv(Context& c) {
  const int y = whole_convolution(c, {c.input(0), c.input(2)}, {c.input(3), c.input(5)},
                                  optional_input(c, 8)),
            scaled = rescaled(c, y, {c.input(1), c.input(4)}, {c.input(6)}, 1, "scaled");
  c.bind(0, quantised(c, scaled, c.input(7), DType::u8, "quantised"));
}

void import_qlinear_matmul(Context& c) {
  const int y = whole_product(c, {c.input(0), c.input(2)}, {c.input(3), c.input(5)}, -1);
  const int last = static_cast<int>(c.shape(y).size()) - 1,
            scaled = rescaled(c, y, {c.input(1), c.input(4)}, {c.input(6)}, last, "scaled");
  c.bind(0, quantised(c, scaled, c.input(7), DType::u8, "quantised"));
}

namespace {

std::vector<size_t> all_axes(const Shape& shape) {
  std::vector<size_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  return axes;
}

Expression single(const char* op, DType type) { return pointwise(op, {}, type, op); }

}  // namespace

// Of numbers that are all 0 the scale is 1.
DynamicallyQuantised quantised_dynamically(Context& c, int x) {
  if (c.tensor(x).dtype != DType::f32)
    refuse(fmt::format("{} is not quantised dynamically, f32 is", ir::name_of(c.tensor(x).dtype)));
  const Shape shape = c.shape(x);
  const int high =
                reduce(c, x, all_axes(shape), {"highest", ir::Combiner::max, ir::read(0)}).tensor,
            low = reduce(c, x, all_axes(shape), {"lowest", ir::Combiner::min, ir::read(0)}).tensor;
  Expression scale = single("scale", DType::f32);
  scale.reads = {plain_read(high, {}), plain_read(low, {})};
  const Scalar range = sub(max(ir::read(0), number(0)), min(ir::read(1), number(0)));
  scale.body = choose(equal(range, number(0)), number(1), div(range, number(255)));
  DynamicallyQuantised out;
  out.scale = c.emit(std::move(scale));
  Expression zero = single("zero", DType::u8);
  zero.reads = {plain_read(low, {}), plain_read(out.scale, {})};
  zero.body = rounded(div(sub(number(0), min(ir::read(0), number(0))), ir::read(1)));
  out.zero = c.emit(std::move(zero));
  Expression q = pointwise("quantise", shape, DType::u8, "quantised");
  q.reads = {plain_read(x, identity_index(shape.size())), plain_read(out.scale, {}),
             plain_read(out.zero, {})};
  q.body = add(rounded(div(ir::read(0), ir::read(1))), ir::read(2));
  out.q = c.emit(std::move(q));
  return out;
}

void import_dynamic_quantize_linear(Context& c) {
  const DynamicallyQuantised d = quantised_dynamically(c, c.input(0));
  c.bind(0, d.q);
  c.bind(1, d.scale);
  c.bind(2, d.zero);
}

}  // namespace assay::import
