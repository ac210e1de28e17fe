// The fusions of ONNX Runtime (domain com.microsoft) that are a product or a convolution with what
// follows it, and those of biases and GELU.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"

namespace assay::import {
namespace {

using ir::Scalar;

// Convolutions give the parameters as a list, products as attributes.
Activation activation_of(const Context& c) {
  Activation a;
  a.name = c.string_attribute("activation", "");
  const std::vector<double> list = c.floats_attribute("activation_params");
  const auto parameter = [&](size_t i, const char* attribute) -> std::optional<double> {
    if (i < list.size()) return list[i];
    if (!c.has_attribute(attribute)) return std::nullopt;
    return c.float_attribute(attribute, 0);
  };
  a.alpha = parameter(0, "activation_alpha");
  a.beta = parameter(1, "activation_beta");
  a.gamma = parameter(2, "activation_gamma");
  return a;
}

// A residual is added before the activation.
int finished(Context& c, int y, int residual) {
  if (residual >= 0) {
    if (c.shape(residual) != c.shape(y))
      refuse(fmt::format("Z has shape [{}], expected [{}]", fmt::join(c.shape(residual), ", "),
                         fmt::join(c.shape(y), ", ")));
    y = sum_of(c, y, residual, "residual");
  }
  return activated(c, y, activation_of(c));
}

std::vector<size_t> channels_first(size_t rank) {
  std::vector<size_t> order = {0, rank - 1};
  for (size_t d = 1; d + 1 < rank; ++d) order.push_back(d);
  return order;
}

std::vector<size_t> channels_last(size_t rank) {
  std::vector<size_t> order = {0};
  for (size_t d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

// transBatch moves the first dimension behind the batch, trans swaps the last two. A vector has
// neither.
View view_of(const Context& c, int input, const char* trans, const char* trans_batch) {
  View v = plain_view(c, c.input(input));
  const size_t rank = v.order.size();
  if (rank < 2) return v;
  if (c.int_attribute(trans_batch, 0) != 0)
    std::rotate(v.order.begin(), v.order.begin() + 1, v.order.end() - 1);
  if (c.int_attribute(trans, 0) != 0) std::swap(v.order[rank - 1], v.order[rank - 2]);
  return v;
}

// gelu(x + bias), with a bias along the last dimension or none.
int biased_gelu(Context& c, int x, int bias, bool with_tanh) {
  const Shape shape = c.shape(x);
  if (bias >= 0 && (shape.empty() || c.shape(bias) != Shape{shape.back()}))
    refuse(fmt::format("the bias has shape [{}], the input [{}]", fmt::join(c.shape(bias), ", "),
                       fmt::join(shape, ", ")));
  Expression e = pointwise("gelu", shape, c.tensor(x).dtype);
  e.reads = {plain_read(x, identity_index(shape.size()))};
  Scalar value = ir::read(0);
  if (bias >= 0) value = add(std::move(value), broadcast_operand(c, bias, shape, e.reads));
  e.body = gelu(value, with_tanh);
  return c.emit(std::move(e));
}

}  // namespace

void import_fused_conv(Context& c) {
  const int y = convolution(c, c.input(0), c.input(1), optional_input(c, 2));
  c.bind(0, finished(c, y, optional_input(c, 3)));
}

// Channels are last in the input, the residual and the output; the weights are as those of Conv.
void import_nhwc_conv(Context& c) {
  const size_t rank = c.shape(c.input(0)).size();
  if (rank < 3) refuse(fmt::format("the input has {} dimensions, expected 3 or more", rank));
  const int x = transposed(c, c.input(0), channels_first(rank), "nchw");
  const int y = convolution(c, x, c.input(1), optional_input(c, 2));
  c.bind(0, finished(c, transposed(c, y, channels_last(rank), "nhwc"), optional_input(c, 3)));
}

void import_fused_matmul(Context& c) {
  const View a = view_of(c, 0, "transA", "transBatchA"), b = view_of(c, 1, "transB", "transBatchB");
  c.bind(0, activated(c, product(c, a, b, c.float_attribute("alpha", 1)), activation_of(c)));
}

void import_fused_gemm(Context& c) { c.bind(0, activated(c, gemm(c), activation_of(c))); }

void import_gemm_fast_gelu(Context& c) {
  const int y = product(c, plain_view(c, c.input(0)), plain_view(c, c.input(1)));
  c.bind(0, biased_gelu(c, y, optional_input(c, 2), true));
}

void import_bias_gelu(Context& c) { c.bind(0, biased_gelu(c, c.input(0), c.input(1), false)); }

void import_fast_gelu(Context& c) {
  c.bind(0, biased_gelu(c, c.input(0), optional_input(c, 1), true));
}

void import_microsoft_gelu(Context& c) { c.bind(0, biased_gelu(c, c.input(0), -1, false)); }

void import_quick_gelu(Context& c) {
  const int y = activated(c, c.input(0), {"QuickGelu", c.float_attribute("alpha", 1.702F), {}, {}});
  c.bind(0, y);
}

// x + bias in two halves: the first times gelu of the second.
void import_bias_split_gelu(Context& c) {
  const int x = c.input(0), bias = c.input(1);
  Shape shape = c.shape(x);
  if (shape.empty() || shape.back() % 2 != 0 || c.shape(bias) != Shape{shape.back()})
    refuse(fmt::format("the bias has shape [{}], the input [{}], whose last extent must be even",
                       fmt::join(c.shape(bias), ", "), fmt::join(shape, ", ")));
  const int64_t half = shape.back() /= 2;
  Expression e = pointwise("split_gelu", shape, c.tensor(x).dtype);
  std::vector<ir::Index> left = identity_index(shape.size()), right = left;
  right.back() = std::move(right.back()) + half;
  e.reads = {plain_read(x, left), plain_read(bias, {left.back()}), plain_read(x, right),
             plain_read(bias, {right.back()})};
  e.body = mul(add(ir::read(0), ir::read(1)), gelu(add(ir::read(2), ir::read(3)), false));
  c.bind(0, c.emit(std::move(e)));
}

// x + bias + skip
void import_bias_add(Context& c) {
  c.bind(0, sum_of(c, with_bias(c, c.input(0), c.input(1)), c.input(2), "skip"));
}

}  // namespace assay::import
