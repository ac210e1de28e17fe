// The supported operators: one free function per ONNX operator (or per family that differs in one
// small thing), found in a constexpr table. A function reads its operands from the context, emits
// expressions and binds its outputs; what it can not express it refuses.
#pragma once

#include <span>
#include <string_view>

#include "import/onnx/context.h"

namespace assay::import {

using Import = void (*)(Context&);

struct Operator {
  std::string_view op_type;
  Import import;
};

std::span<const Operator> operators();
const Operator* find_operator(std::string_view op_type);

// ops_conv.cpp
void import_conv(Context&);
// ops_pool.cpp
void import_max_pool(Context&);
void import_average_pool(Context&);
void import_global_average_pool(Context&);
void import_global_max_pool(Context&);
// ops_matmul.cpp
void import_matmul(Context&);
void import_gemm(Context&);
// ops_normalise.cpp
void import_batch_normalization(Context&);
void import_softmax(Context&);
void import_log_softmax(Context&);
void import_lrn(Context&);
void import_layer_normalization(Context&);
// ops_reduce.cpp
void import_reduce_sum(Context&);
void import_reduce_mean(Context&);
void import_reduce_max(Context&);
void import_reduce_min(Context&);
void import_reduce_prod(Context&);
// ops_elementwise.cpp
void import_unary(Context&);
void import_binary(Context&);
void import_variadic(Context&);
void import_clip(Context&);
void import_where(Context&);
void import_prelu(Context&);
// ops_shape.cpp
void import_reshape(Context&);
void import_flatten(Context&);
void import_squeeze(Context&);
void import_unsqueeze(Context&);
void import_identity(Context&);
void import_shape(Context&);
void import_size(Context&);
// ops_move.cpp
void import_transpose(Context&);
void import_concat(Context&);
void import_slice(Context&);
void import_split(Context&);
void import_pad(Context&);
void import_expand(Context&);
void import_tile(Context&);
// ops_constant.cpp
void import_constant(Context&);
void import_constant_of_shape(Context&);
void import_gather(Context&);
void import_cast(Context&);
void import_range(Context&);

}  // namespace assay::import
