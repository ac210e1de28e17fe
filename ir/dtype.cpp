#include "ir/dtype.h"

#include <array>

#include "support/check.h"

namespace assay::ir {
namespace {

struct Row {
  DType dtype;
  int bytes;
  std::string_view name;
  DType number;
  int numbers = 1;
};

constexpr std::array<Row, 13> kTypes = {{{DType::f32, 4, "f32", DType::f32},
                                         {DType::f64, 8, "f64", DType::f64},
                                         {DType::f16, 2, "f16", DType::f16},
                                         {DType::bf16, 2, "bf16", DType::bf16},
                                         {DType::i8, 1, "i8", DType::i8},
                                         {DType::u8, 1, "u8", DType::u8},
                                         {DType::i32, 4, "i32", DType::i32},
                                         {DType::i64, 8, "i64", DType::i64},
                                         {DType::boolean, 1, "bool", DType::boolean},
                                         {DType::f8e4m3, 1, "f8e4m3", DType::f8e4m3},
                                         {DType::f8e5m2, 1, "f8e5m2", DType::f8e5m2},
                                         {DType::f16x2, 4, "f16x2", DType::f16, 2},
                                         {DType::bf16x2, 4, "bf16x2", DType::bf16, 2}}};

const Row& row_of(DType t) {
  const size_t i = static_cast<size_t>(t);
  ASSAY_CHECK(i < kTypes.size() && kTypes[i].dtype == t);
  return kTypes[i];
}

}  // namespace

int bytes_of(DType t) { return row_of(t).bytes; }
int numbers_in(DType t) { return row_of(t).numbers; }
DType number_type(DType t) { return row_of(t).number; }

bool is_float8(DType t) { return t == DType::f8e4m3 || t == DType::f8e5m2; }
bool is_small_float(DType t) { return t == DType::f16 || t == DType::bf16 || is_float8(t); }

DType accumulation_of(DType t) {
  switch (t) {
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2:
      return DType::f32;
    case DType::i8:
    case DType::u8:
      return DType::i32;
    default:
      return t;
  }
}

bool converts(DType stored, DType computed) {
  switch (stored) {
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::i32:
      return computed == DType::f32;
    case DType::i8:
    case DType::u8:
      return computed == DType::i32 || computed == DType::f32;
    default:
      return false;
  }
}

bool packs(DType packed, DType number) {
  if (packed == DType::i32) return bytes_of(number) == 1 && number != DType::boolean;
  return numbers_in(packed) > 1 && number_type(packed) == number;
}

std::string_view name_of(DType t) { return row_of(t).name; }

std::optional<DType> parse_element_type(std::string_view name) {
  for (const Row& row : kTypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::optional<DType> parse_dtype(std::string_view name) {
  const std::optional<DType> t = parse_element_type(name);
  return t && numbers_in(*t) == 1 ? t : std::nullopt;
}

}  // namespace assay::ir
