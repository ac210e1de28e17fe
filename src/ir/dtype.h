// Element types of tensors and registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::ir {

enum class DType { f32, f64, f16, bf16, i8, u8, i32, i64, boolean };

int bytes_of(DType t);
std::string_view name_of(DType t);
std::optional<DType> parse_dtype(std::string_view name);

}  // namespace assay::ir
