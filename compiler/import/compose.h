// Whole tensors in, whole tensors out: the pieces that larger operators are made of. Each adds one
// or a few nodes and returns the result's tensor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/context.h"

namespace assay::import {

// A tensor seen with its dimensions in another order: dimension i is the tensor's order[i].
struct View {
  int tensor = -1;
  std::vector<size_t> order;
};

View plain_view(const Context& c, int tensor);

// Numpy's matmul, batches broadcast; the result times `alpha`.
int product(Context& c, const View& a, const View& b, double alpha = 1,
            std::string suffix = "product", std::optional<ir::DType> dtype = {});

int transposed(Context& c, int x, const std::vector<size_t>& order,
               std::string suffix = "transposed");
int concatenated(Context& c, const std::vector<int>& parts, size_t axis,
                 std::string suffix = "concat");
// x at start .. start + count - 1 along `axis`.
int part_of(Context& c, int x, size_t axis, int64_t start, int64_t count);
int sum_of(Context& c, int a, int b, std::string suffix = "sum");  // broadcast
// x plus a vector along its last dimension.
int with_bias(Context& c, int x, int bias);

// exp(x - max) / sum(exp(x - max)). With `empty_rows`, a row of minus infinities gives zeros.
int softmax(Context& c, int x, const std::vector<size_t>& axes, bool empty_rows = false);

// The nearest values that `t`, f16 or bf16, holds, halves to the even one, as values of type
// `kept`.
int rounded_to(Context& c, int x, ir::DType t, ir::DType kept);

// Normalisation by the statistics over `axes`; scale and bias are broadcast, -1: none. The
// statistics are bound to those outputs of the ONNX node, -1: none.
struct Normalisation {
  int scale = -1, bias = -1;
  double epsilon = 0;
  int mean_output = -1, inverse_output = -1;
};
int layer_normal(Context& c, int x, const std::vector<size_t>& axes, const Normalisation& n);
int rms_normal(Context& c, int x, const std::vector<size_t>& axes, const Normalisation& n);

bool wants_output(const Context& c, int i);
int optional_input(const Context& c, int i);  // -1: it is missing

// Conv of the current node's attributes over x in the order n c y x; bias: -1: none. `dtype`: of
// the result, `outside`: what it reads beyond x.
int convolution(Context& c, int x, int w, int bias, std::optional<ir::DType> dtype = {},
                double outside = 0);
int gemm(Context& c);  // the current node's operands and attributes

// x / 2 (1 + erf(x / sqrt 2)); with tanh: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
ir::Scalar gelu(const ir::Scalar& x, bool with_tanh);
ir::Scalar sigmoid(ir::Scalar x);
ir::Scalar rounded(const ir::Scalar& x);  // to the nearest integer, a half to the even one

// An activation that an operator names in an attribute; what is not given has ONNX's default.
struct Activation {
  std::string name;  // empty: none
  std::optional<double> alpha, beta, gamma;
};
ir::Scalar activated(const Activation& a, const ir::Scalar& x);  // refuses unknown names
int activated(Context& c, int x, const Activation& a);

}  // namespace assay::import
