#include "compiler/import/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "support/edit_distance.h"

namespace assay::import {
namespace {

constexpr auto kOperators = std::to_array<Operator>({
    {"Abs", import_unary},
    {"Acos", import_acos},
    {"Acosh", import_unary},
    {"Add", import_binary},
    {"And", import_binary},
    {"ArgMax", import_arg_max},
    {"ArgMin", import_arg_min},
    {"Asin", import_asin},
    {"Asinh", import_unary},
    {"Atan", import_atan},
    {"Atanh", import_unary},
    {"Attention", import_attention},
    {"AveragePool", import_average_pool},
    {"BatchNormalization", import_batch_normalization},
    {"BitShift", import_binary},
    {"BitwiseAnd", import_bitwise},
    {"BitwiseNot", import_bitwise_not},
    {"BitwiseOr", import_bitwise},
    {"BitwiseXor", import_bitwise},
    {"Cast", import_cast},
    {"CastLike", import_cast_like},
    {"Ceil", import_unary},
    {"Celu", import_unary},
    {"Clip", import_clip},
    {"Concat", import_concat},
    {"Constant", import_constant},
    {"ConstantOfShape", import_constant_of_shape},
    {"Conv", import_conv},
    {"ConvInteger", import_conv_integer},
    {"ConvTranspose", import_conv_transpose},
    {"Cos", import_cos},
    {"Cosh", import_unary},
    {"CumSum", import_cum_sum},
    {"DepthToSpace", import_depth_to_space},
    {"DequantizeLinear", import_dequantize_linear},
    {"Div", import_binary},
    {"Dropout", import_dropout},
    {"DynamicQuantizeLinear", import_dynamic_quantize_linear},
    {"Einsum", import_einsum},
    {"Elu", import_unary},
    {"Equal", import_binary},
    {"Erf", import_unary},
    {"Exp", import_unary},
    {"Expand", import_expand},
    {"EyeLike", import_eye_like},
    {"Flatten", import_flatten},
    {"Floor", import_unary},
    {"GRU", import_gru},
    {"Gather", import_gather},
    {"GatherElements", import_gather_elements},
    {"GatherND", import_gather_nd},
    {"Gelu", import_unary},
    {"Gemm", import_gemm},
    {"GlobalAveragePool", import_global_average_pool},
    {"GlobalLpPool", import_global_lp_pool},
    {"GlobalMaxPool", import_global_max_pool},
    {"Greater", import_binary},
    {"GreaterOrEqual", import_binary},
    {"GridSample", import_grid_sample},
    {"GroupNormalization", import_group_normalization},
    {"HardSigmoid", import_unary},
    {"HardSwish", import_unary},
    {"Hardmax", import_hardmax},
    {"Identity", import_identity},
    {"InstanceNormalization", import_instance_normalization},
    {"IsInf", import_unary},
    {"IsNaN", import_unary},
    {"LRN", import_lrn},
    {"LSTM", import_lstm},
    {"LayerNormalization", import_layer_normalization},
    {"LeakyRelu", import_unary},
    {"Less", import_binary},
    {"LessOrEqual", import_binary},
    {"Log", import_unary},
    {"LogSoftmax", import_log_softmax},
    {"LpNormalization", import_lp_normalization},
    {"LpPool", import_lp_pool},
    {"MatMul", import_matmul},
    {"MatMulInteger", import_matmul_integer},
    {"Max", import_variadic},
    {"MaxPool", import_max_pool},
    {"Mean", import_variadic},
    {"MeanVarianceNormalization", import_mean_variance_normalization},
    {"Min", import_variadic},
    {"Mish", import_unary},
    {"Mod", import_binary},
    {"Mul", import_binary},
    {"Neg", import_unary},
    {"NonZero", import_non_zero},
    {"Not", import_unary},
    {"OneHot", import_one_hot},
    {"Or", import_binary},
    {"PRelu", import_prelu},
    {"Pad", import_pad},
    {"Pow", import_binary},
    {"QLinearConv", import_qlinear_conv},
    {"QLinearMatMul", import_qlinear_matmul},
    {"QuantizeLinear", import_quantize_linear},
    {"RMSNormalization", import_rms_normalization},
    {"RNN", import_rnn},
    {"Range", import_range},
    {"Reciprocal", import_unary},
    {"ReduceL1", import_reduce_l1},
    {"ReduceL2", import_reduce_l2},
    {"ReduceLogSum", import_reduce_log_sum},
    {"ReduceLogSumExp", import_reduce_log_sum_exp},
    {"ReduceMax", import_reduce_max},
    {"ReduceMean", import_reduce_mean},
    {"ReduceMin", import_reduce_min},
    {"ReduceProd", import_reduce_prod},
    {"ReduceSum", import_reduce_sum},
    {"ReduceSumSquare", import_reduce_sum_square},
    {"Relu", import_unary},
    {"Reshape", import_reshape},
    {"Resize", import_resize},
    {"RoiAlign", import_roi_align},
    {"RotaryEmbedding", import_rotary_embedding},
    {"Round", import_unary},
    {"Scatter", import_scatter_elements},
    {"ScatterElements", import_scatter_elements},
    {"ScatterND", import_scatter_nd},
    {"Selu", import_unary},
    {"Shape", import_shape},
    {"Shrink", import_unary},
    {"Sigmoid", import_unary},
    {"Sign", import_unary},
    {"SimplifiedLayerNormalization", import_rms_normalization},
    {"Sin", import_sin},
    {"Sinh", import_unary},
    {"Size", import_size},
    {"Slice", import_slice},
    {"Softmax", import_softmax},
    {"Softplus", import_unary},
    {"Softsign", import_unary},
    {"SpaceToDepth", import_space_to_depth},
    {"Split", import_split},
    {"Sqrt", import_unary},
    {"Squeeze", import_squeeze},
    {"Sub", import_binary},
    {"Sum", import_variadic},
    {"Swish", import_unary},
    {"Tan", import_tan},
    {"Tanh", import_unary},
    {"ThresholdedRelu", import_unary},
    {"Tile", import_tile},
    {"TopK", import_top_k},
    {"Transpose", import_transpose},
    {"Trilu", import_trilu},
    {"Unsqueeze", import_unsqueeze},
    {"Upsample", import_upsample},
    {"Where", import_where},
    {"Xor", import_binary},
});

// The fusions of ONNX Runtime that exporters write.
constexpr auto kMicrosoftOperators = std::to_array<Operator>({
    {"Attention", import_microsoft_attention},
    {"BiasAdd", import_bias_add},
    {"BiasGelu", import_bias_gelu},
    {"BiasSplitGelu", import_bias_split_gelu},
    {"DequantizeLinear", import_dequantize_linear},
    {"DynamicQuantizeMatMul", import_dynamic_quantize_matmul},
    {"EmbedLayerNormalization", import_embed_layer_normalization},
    {"FastGelu", import_fast_gelu},
    {"FusedConv", import_fused_conv},
    {"FusedGemm", import_fused_gemm},
    {"FusedMatMul", import_fused_matmul},
    {"FusedMatMulActivation", import_fused_matmul},
    {"Gelu", import_microsoft_gelu},
    {"GemmFastGelu", import_gemm_fast_gelu},
    {"GridSample", import_grid_sample},
    {"MatMulIntegerToFloat", import_matmul_integer_to_float},
    {"MatMulNBits", import_matmul_n_bits},
    {"MultiHeadAttention", import_multi_head_attention},
    {"NhwcConv", import_nhwc_conv},
    {"NhwcFusedConv", import_nhwc_conv},
    {"QGemm", import_qgemm},
    {"QLinearAdd", import_qlinear_add},
    {"QLinearAveragePool", import_qlinear_average_pool},
    {"QLinearConcat", import_qlinear_concat},
    {"QLinearGlobalAveragePool", import_qlinear_global_average_pool},
    {"QLinearLeakyRelu", import_qlinear_leaky_relu},
    {"QLinearMul", import_qlinear_mul},
    {"QLinearSigmoid", import_qlinear_sigmoid},
    {"QLinearSoftmax", import_qlinear_softmax},
    {"QuantizeLinear", import_quantize_linear},
    {"QuickGelu", import_quick_gelu},
    {"RotaryEmbedding", import_microsoft_rotary_embedding},
    {"SimplifiedLayerNormalization", import_rms_normalization},
    {"SkipLayerNormalization", import_skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", import_skip_simplified_layer_normalization},
    {"TransposeMatMul", import_fused_matmul},
});

}  // namespace

std::span<const Operator> operators(std::string_view domain) {
  if (domain.empty() || domain == "ai.onnx") return kOperators;
  if (domain == kMicrosoft) return kMicrosoftOperators;
  return {};
}

const Operator* find_operator(std::string_view op_type, std::string_view domain) {
  const std::span<const Operator> all = operators(domain);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Operator& o) { return o.op_type == op_type; });
  return found == all.end() ? nullptr : &*found;
}

void check_operands(const Context& c, const Operator& o) {
  static constexpr auto kTakeEmpty = std::to_array<Import>({import_binary,
                                                            import_cast,
                                                            import_cast_like,
                                                            import_clip,
                                                            import_concat,
                                                            import_expand,
                                                            import_flatten,
                                                            import_gather,
                                                            import_identity,
                                                            import_matmul,
                                                            import_pad,
                                                            import_reduce_l1,
                                                            import_reduce_l2,
                                                            import_reduce_max,
                                                            import_reduce_min,
                                                            import_reduce_prod,
                                                            import_reduce_sum,
                                                            import_reshape,
                                                            import_reduce_sum_square,
                                                            import_shape,
                                                            import_size,
                                                            import_slice,
                                                            import_split,
                                                            import_squeeze,
                                                            import_tile,
                                                            import_transpose,
                                                            import_unary,
                                                            import_unsqueeze,
                                                            import_variadic,
                                                            import_where});
  if (std::find(kTakeEmpty.begin(), kTakeEmpty.end(), o.import) != kTakeEmpty.end()) return;
  for (int i = 0; i < c.input_count(); ++i)
    if (c.has_input(i) && c.shape(c.input(i)) != Shape{0} && is_empty(c.shape(c.input(i))))
      refuse(fmt::format("operand {} of shape [{}] has no elements", c.tensor(c.input(i)).name,
                         fmt::join(c.shape(c.input(i)), ", ")));
}

Refusal unsupported(std::string_view op_type, std::string_view domain) {
  const std::span<const Operator> all = operators(domain);
  if (all.empty()) return {fmt::format("operators of the domain {} are not supported", domain), ""};
  const bool own = domain != kMicrosoft;
  const std::string name = own ? std::string(op_type) : fmt::format("{}.{}", domain, op_type);
  Refusal r{fmt::format("the operator {} is not supported", name), ""};
  std::vector<std::string> names;
  for (const Operator& o : all) names.emplace_back(o.op_type);
  const std::string near = nearest(std::string(op_type), names);
  if (find_operator(op_type, own ? kMicrosoft : ""))
    r.hint =
        fmt::format("{} is an operator of the domain {}", op_type, own ? kMicrosoft : "ai.onnx");
  else if (!near.empty())
    r.hint = fmt::format("the nearest supported one is {}", near);
  return r;
}

std::vector<std::string_view> supported_operators(std::string_view domain) {
  std::vector<std::string_view> names;
  for (const Operator& o : operators(domain)) names.push_back(o.op_type);
  return names;
}

}  // namespace assay::import
