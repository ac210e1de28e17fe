// Element types of tensors and registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::ir {

// f8e4m3, f8e5m2: FLOAT8E4M3FN and FLOAT8E5M2 of ONNX: 4 and 5 bits of exponent, 3 and 2 of
// the fraction. The first has no infinities, and one NaN of each sign. The last two are packed: two
// numbers in 4 bytes, the first in the low half. Machines compute on both at once. Only loop
// kernels use them, not tensors.
enum class DType { f32, f64, f16, bf16, i8, u8, i32, i64, boolean, f8e4m3, f8e5m2, f16x2, bf16x2 };

int bytes_of(DType t);
int numbers_in(DType t);       // 2 of the packed types, else 1
DType number_type(DType t);    // f16 for f16x2; other types themselves
bool is_float8(DType t);       // f8e4m3, f8e5m2
bool is_small_float(DType t);  // those, f16 and bf16
// Of sums of such numbers: f32 of small floats, i32 of i8 and u8; other types themselves.
DType accumulation_of(DType t);
// Loads and stores of loop kernels convert between elements of type `stored` and values of type
// `computed`: small floats and f32; i8 or u8 and i32 or f32; i32 and f32. Stores round to nearest
// even and, to whole numbers and floats of 8 bits, saturate, infinities too. What becomes of NaN in
// whole numbers is open.
bool converts(DType stored, DType computed);
// Does a register of type `packed` hold several numbers of type `number`: f16x2, i32 of bytes.
bool packs(DType packed, DType number);
std::string_view name_of(DType t);
std::optional<DType> parse_dtype(std::string_view name);         // of a tensor
std::optional<DType> parse_element_type(std::string_view name);  // packed ones, too

}  // namespace assay::ir
