#include "import/onnx/operators.h"

#include <algorithm>
#include <array>

namespace assay::import {
namespace {

constexpr auto kOperators = std::to_array<Operator>({
    {"Abs", import_unary},
    {"Add", import_binary},
    {"And", import_binary},
    {"AveragePool", import_average_pool},
    {"BatchNormalization", import_batch_normalization},
    {"Cast", import_cast},
    {"Ceil", import_unary},
    {"Clip", import_clip},
    {"Concat", import_concat},
    {"Constant", import_constant},
    {"ConstantOfShape", import_constant_of_shape},
    {"Conv", import_conv},
    {"Div", import_binary},
    {"Dropout", import_identity},
    {"Elu", import_unary},
    {"Equal", import_binary},
    {"Erf", import_unary},
    {"Exp", import_unary},
    {"Expand", import_expand},
    {"Flatten", import_flatten},
    {"Floor", import_unary},
    {"Gather", import_gather},
    {"Gelu", import_unary},
    {"Gemm", import_gemm},
    {"GlobalAveragePool", import_global_average_pool},
    {"GlobalMaxPool", import_global_max_pool},
    {"Greater", import_binary},
    {"HardSigmoid", import_unary},
    {"HardSwish", import_unary},
    {"Identity", import_identity},
    {"LRN", import_lrn},
    {"LayerNormalization", import_layer_normalization},
    {"LeakyRelu", import_unary},
    {"Less", import_binary},
    {"Log", import_unary},
    {"LogSoftmax", import_log_softmax},
    {"MatMul", import_matmul},
    {"Max", import_variadic},
    {"MaxPool", import_max_pool},
    {"Mean", import_variadic},
    {"Min", import_variadic},
    {"Mul", import_binary},
    {"Neg", import_unary},
    {"Not", import_unary},
    {"Or", import_binary},
    {"PRelu", import_prelu},
    {"Pad", import_pad},
    {"Pow", import_binary},
    {"Range", import_range},
    {"Reciprocal", import_unary},
    {"ReduceMax", import_reduce_max},
    {"ReduceMean", import_reduce_mean},
    {"ReduceMin", import_reduce_min},
    {"ReduceProd", import_reduce_prod},
    {"ReduceSum", import_reduce_sum},
    {"Relu", import_unary},
    {"Reshape", import_reshape},
    {"Shape", import_shape},
    {"Sigmoid", import_unary},
    {"Size", import_size},
    {"Slice", import_slice},
    {"Softmax", import_softmax},
    {"Softplus", import_unary},
    {"Split", import_split},
    {"Sqrt", import_unary},
    {"Squeeze", import_squeeze},
    {"Sub", import_binary},
    {"Sum", import_variadic},
    {"Tanh", import_unary},
    {"Tile", import_tile},
    {"Transpose", import_transpose},
    {"Unsqueeze", import_unsqueeze},
    {"Where", import_where},
});

}  // namespace

std::span<const Operator> operators() { return kOperators; }

const Operator* find_operator(std::string_view op_type) {
  const auto found = std::find_if(kOperators.begin(), kOperators.end(),
                                  [&](const Operator& o) { return o.op_type == op_type; });
  return found == kOperators.end() ? nullptr : &*found;
}

std::vector<std::string_view> supported_operators() {
  std::vector<std::string_view> names;
  for (const Operator& o : kOperators) names.push_back(o.op_type);
  return names;
}

}  // namespace assay::import
