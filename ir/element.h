// One element of a tensor's bytes (little-endian) as a double or an integer, and back.
//
// Reading is exact except for i64 beyond 2^53. Writing rounds floats to nearest even, and integers
// towards zero with saturation, as floats of 8 bits do (ONNX, Cast with saturate = 1). Floats of 8
// and 16 bits are decoded only here. The number of a packed type is its 32 bits, which a double
// holds exactly: see unpack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/dtype.h"

namespace assay::ir {

bool is_integer(DType t);  // boolean counts as one

// The nearest number of the type, as store_element would store it. Not of packed types.
double rounded(DType t, double value);
// The same as kernels and graphs convert: to whole numbers, half a unit goes to the even one.
double converted(DType t, double value);
// The number in place `i` of the 32 bits of a packed element; bits with it in that place. Whole
// numbers wrap.
double unpack(DType number, uint32_t bits, int i);
uint32_t pack(DType number, uint32_t bits, int i, double value);

// The value of a register that holds several numbers (f16x2, i32 of four i8), and its 32 bits.
double of_bits(DType register_type, uint32_t bits);
uint32_t bits_of(DType register_type, double value);

double load_element(DType t, const std::byte* at);
void store_element(DType t, std::byte* at, double value);

int64_t load_integer(DType t, const std::byte* at);         // is_integer(t)
void store_integer(DType t, std::byte* at, int64_t value);  // is_integer(t); wraps

// All elements; a rest shorter than one element is ignored.
std::vector<double> doubles_of(DType t, std::span<const std::byte> bytes);
std::vector<std::byte> bytes_of_doubles(DType t, std::span<const double> values);

}  // namespace assay::ir
