// The supported operators: one free function per ONNX operator (or per family that differs in one
// small thing), found in a constexpr table. A function reads its operands from the context, emits
// expressions and binds its outputs. It refuses what it can not express.
#pragma once

#include <span>
#include <string_view>

#include "compiler/import/context.h"

namespace assay::import {

using Import = void (*)(Context&);

struct Operator {
  std::string_view op_type;
  Import import;
};

inline constexpr std::string_view kMicrosoft = "com.microsoft";

// The same name is another operator in another domain. ONNX's own is "" or "ai.onnx".
std::span<const Operator> operators(std::string_view domain);  // empty: the domain is not known
const Operator* find_operator(std::string_view op_type, std::string_view domain);
Refusal unsupported(std::string_view op_type, std::string_view domain);
// Refuses operands without elements, lists aside, of operators that are not defined on them.
void check_operands(const Context& c, const Operator& o);

// ops_fused.cpp
void import_fused_conv(Context&);
void import_nhwc_conv(Context&);
void import_fused_matmul(Context&);
void import_fused_gemm(Context&);
void import_gemm_fast_gelu(Context&);
void import_bias_gelu(Context&);
void import_fast_gelu(Context&);
void import_microsoft_gelu(Context&);
void import_quick_gelu(Context&);
void import_bias_split_gelu(Context&);
void import_bias_add(Context&);
// ops_skip_norm.cpp
void import_skip_layer_normalization(Context&);
void import_skip_simplified_layer_normalization(Context&);
void import_embed_layer_normalization(Context&);
// ops_attention.cpp
void import_attention(Context&);
// ops_microsoft_attention.cpp
void import_multi_head_attention(Context&);
void import_microsoft_attention(Context&);
// ops_rotary.cpp
void import_rotary_embedding(Context&);
void import_microsoft_rotary_embedding(Context&);
// ops_bitwise.cpp
void import_bitwise(Context&);
void import_bitwise_not(Context&);
// ops_grid_sample.cpp
void import_grid_sample(Context&);
// ops_roi_align.cpp
void import_roi_align(Context&);
// ops_conv.cpp
void import_conv(Context&);
// ops_conv_transpose.cpp
void import_conv_transpose(Context&);
// ops_pool.cpp
void import_max_pool(Context&);
void import_average_pool(Context&);
void import_lp_pool(Context&);
void import_global_average_pool(Context&);
void import_global_max_pool(Context&);
void import_global_lp_pool(Context&);
// ops_matmul.cpp
void import_matmul(Context&);
void import_gemm(Context&);
// ops_einsum.cpp
void import_einsum(Context&);
// ops_normalise.cpp
void import_batch_normalization(Context&);
void import_softmax(Context&);
void import_log_softmax(Context&);
void import_lrn(Context&);
// ops_layer_norm.cpp
void import_layer_normalization(Context&);
void import_instance_normalization(Context&);
void import_group_normalization(Context&);
void import_mean_variance_normalization(Context&);
void import_rms_normalization(Context&);
void import_lp_normalization(Context&);
// ops_recurrent.cpp
void import_gru(Context&);
void import_lstm(Context&);
void import_rnn(Context&);
// ops_reduce.cpp
void import_reduce_sum(Context&);
void import_reduce_mean(Context&);
void import_reduce_max(Context&);
void import_reduce_min(Context&);
void import_reduce_prod(Context&);
void import_reduce_l1(Context&);
void import_reduce_l2(Context&);
void import_reduce_sum_square(Context&);
void import_reduce_log_sum(Context&);
void import_reduce_log_sum_exp(Context&);
void import_arg_max(Context&);
void import_arg_min(Context&);
void import_hardmax(Context&);
// ops_unary.cpp
void import_unary(Context&);
// ops_trigonometry.cpp
void import_sin(Context&);
void import_cos(Context&);
void import_tan(Context&);
void import_asin(Context&);
void import_acos(Context&);
void import_atan(Context&);
// ops_elementwise.cpp
void import_binary(Context&);
void import_variadic(Context&);
void import_clip(Context&);
void import_where(Context&);
void import_prelu(Context&);
// ops_cast.cpp
void import_cast(Context&);
void import_cast_like(Context&);
// ops_shape.cpp
void import_reshape(Context&);
void import_flatten(Context&);
void import_squeeze(Context&);
void import_unsqueeze(Context&);
void import_identity(Context&);
void import_dropout(Context&);
void import_shape(Context&);
void import_size(Context&);
// ops_move.cpp
void import_transpose(Context&);
void import_concat(Context&);
void import_slice(Context&);
void import_split(Context&);
void import_expand(Context&);
void import_tile(Context&);
// ops_nonzero.cpp
void import_non_zero(Context&);
// ops_quantise.cpp
void import_dequantize_linear(Context&);
void import_quantize_linear(Context&);
void import_conv_integer(Context&);
void import_dynamic_quantize_linear(Context&);
void import_matmul_integer(Context&);
void import_qlinear_conv(Context&);
void import_qlinear_matmul(Context&);
void import_dynamic_quantize_matmul(Context&);
void import_matmul_integer_to_float(Context&);
void import_matmul_n_bits(Context&);
void import_qgemm(Context&);
void import_qlinear_add(Context&);
void import_qlinear_average_pool(Context&);
void import_qlinear_concat(Context&);
void import_qlinear_global_average_pool(Context&);
void import_qlinear_leaky_relu(Context&);
void import_qlinear_mul(Context&);
void import_qlinear_sigmoid(Context&);
void import_qlinear_softmax(Context&);
// ops_pad.cpp
void import_pad(Context&);
// ops_rearrange.cpp
void import_depth_to_space(Context&);
void import_space_to_depth(Context&);
void import_trilu(Context&);
void import_eye_like(Context&);
void import_cum_sum(Context&);
// ops_scatter.cpp
void import_scatter_elements(Context&);
void import_scatter_nd(Context&);
// ops_sort.cpp
void import_top_k(Context&);
// ops_resize.cpp
void import_resize(Context&);
void import_upsample(Context&);
// ops_gather.cpp
void import_gather(Context&);
void import_gather_elements(Context&);
void import_gather_nd(Context&);
void import_one_hot(Context&);
// ops_constant.cpp
void import_constant(Context&);
void import_constant_of_shape(Context&);
void import_range(Context&);

}  // namespace assay::import
