// Element types of tensors and registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::ir {

// The last two are packed: two numbers in 4 bytes, the first in the low half. Machines compute on
// both at once. Only loop kernels use them, not tensors.
enum class DType { f32, f64, f16, bf16, i8, u8, i32, i64, boolean, f16x2, bf16x2 };

int bytes_of(DType t);
int numbers_in(DType t);     // 2 of the packed types, else 1
DType number_type(DType t);  // f16 for f16x2; other types themselves
// Of sums of such numbers: f32 of f16 and bf16, i32 of i8 and u8; other types themselves.
DType accumulation_of(DType t);
// Loads and stores of loop kernels convert between elements of type `stored` and values of type
// `computed`: f16 or bf16 and f32; i8 or u8 and i32 or f32; i32 and f32. Stores round to nearest
// even and, to whole numbers, saturate; what they make of NaN then is open.
bool converts(DType stored, DType computed);
// Does a register of type `packed` hold several numbers of type `number`: f16x2, i32 of i8.
bool packs(DType packed, DType number);
std::string_view name_of(DType t);
std::optional<DType> parse_dtype(std::string_view name);         // of a tensor
std::optional<DType> parse_element_type(std::string_view name);  // packed ones, too

}  // namespace assay::ir
