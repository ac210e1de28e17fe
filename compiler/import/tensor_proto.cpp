// TensorProto -> constant: raw bytes or one of the typed fields, element counts checked.
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "compiler/import/context.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::DType;
using onnx::TensorProto;

Shape shape_of(const TensorProto& t) { return Shape(t.dims().begin(), t.dims().end()); }

[[noreturn]] void refuse_count(const TensorProto& t, int64_t have, int64_t want) {
  refuse(fmt::format("tensor {} has {} elements, its shape [{}] needs {}", t.name(), have,
                     fmt::join(shape_of(t), ", "), want));
}

std::vector<std::byte> raw_bytes(const TensorProto& t, int64_t need) {
  const int64_t have = static_cast<int64_t>(t.raw_data().size());
  if (have != need)
    refuse(fmt::format("tensor {} has {} bytes of data, its shape [{}] needs {}", t.name(), have,
                       fmt::join(shape_of(t), ", "), need));
  std::vector<std::byte> bytes(static_cast<size_t>(have));
  if (have > 0) std::memcpy(bytes.data(), t.raw_data().data(), bytes.size());
  return bytes;
}

// From the file beside the model or from raw_data; nullopt: a typed field holds them.
std::optional<std::vector<std::byte>> stored_bytes(Context& c, const TensorProto& t, int64_t need) {
  if (t.data_location() == TensorProto::EXTERNAL) {
    const std::span<const std::byte> bytes = c.external.bytes_of(t, need);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }
  if (t.has_raw_data()) return raw_bytes(t, need);
  return std::nullopt;
}

// One element per entry of the field; small floats stand as their bits.
template <class Field>
std::vector<std::byte> field_bytes(const TensorProto& t, const Field& field, DType dtype,
                                   int64_t count) {
  if (field.size() != count) refuse_count(t, field.size(), count);
  const size_t size = static_cast<size_t>(ir::bytes_of(dtype));
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
  for (int i = 0; i < field.size(); ++i) {
    std::byte* at = bytes.data() + static_cast<size_t>(i) * size;
    if (ir::is_float8(dtype)) {
      bytes[static_cast<size_t>(i)] = static_cast<std::byte>(static_cast<int64_t>(field.Get(i)));
    } else if (dtype == DType::f16 || dtype == DType::bf16) {
      const uint16_t bits = static_cast<uint16_t>(static_cast<int64_t>(field.Get(i)));
      std::memcpy(at, &bits, sizeof bits);
    } else if (ir::is_integer(dtype)) {
      ir::store_integer(dtype, at, static_cast<int64_t>(field.Get(i)));
    } else {
      ir::store_element(dtype, at, static_cast<double>(field.Get(i)));
    }
  }
  return bytes;
}

std::vector<std::byte> bytes_of(Context& c, const TensorProto& t, DType dtype, int64_t count) {
  if (auto stored = stored_bytes(c, t, count * ir::bytes_of(dtype))) return std::move(*stored);
  switch (dtype) {
    case DType::f32:
      return field_bytes(t, t.float_data(), dtype, count);
    case DType::f64:
      return field_bytes(t, t.double_data(), dtype, count);
    case DType::i64:
      return field_bytes(t, t.int64_data(), dtype, count);
    default:
      return field_bytes(t, t.int32_data(), dtype, count);
  }
}

// ONNX's element types that are younger than the protobuf classes.
constexpr int kUint4 = 21, kInt4 = 22, kFloat8E4M3FN = 17, kFloat8E5M2 = 19;

// Two elements in a byte, the first in the lower half.
std::vector<std::byte> four_bit_bytes(Context& c, const TensorProto& t, int64_t count) {
  const int64_t packed = (count + 1) / 2;
  std::optional<std::vector<std::byte>> stored = stored_bytes(c, t, packed);
  if (!stored) stored = field_bytes(t, t.int32_data(), DType::u8, packed);
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int half = std::to_integer<int>((*stored)[i / 2]) >> (i % 2 * 4) & 15;
    const bool negative = t.data_type() == kInt4 && half >= 8;
    bytes[i] = static_cast<std::byte>(negative ? half - 16 : half);
  }
  return bytes;
}

int add_four_bit(Context& c, const TensorProto& t, const Shape& shape, int64_t count,
                 std::string suffix) {
  const DType dtype = t.data_type() == kInt4 ? DType::i8 : DType::u8;
  const int id = c.add_constant(dtype, shape, four_bit_bytes(c, t, count), std::move(suffix));
  c.four_bit.insert(id);
  return id;
}

}  // namespace

DType dtype_of(int onnx_type) {
  switch (onnx_type) {
    case TensorProto::FLOAT:
      return DType::f32;
    case TensorProto::DOUBLE:
      return DType::f64;
    case TensorProto::FLOAT16:
      return DType::f16;
    case TensorProto::BFLOAT16:
      return DType::bf16;
    case kFloat8E4M3FN:
      return DType::f8e4m3;
    case kFloat8E5M2:
      return DType::f8e5m2;
    case TensorProto::INT8:
      return DType::i8;
    case TensorProto::UINT8:
      return DType::u8;
    case TensorProto::INT32:
      return DType::i32;
    case TensorProto::INT64:
      return DType::i64;
    case TensorProto::BOOL:
      return DType::boolean;
    default:
      break;
  }
  const std::string name =
      TensorProto::DataType_IsValid(onnx_type)
          ? TensorProto::DataType_Name(static_cast<TensorProto::DataType>(onnx_type))
          : std::to_string(onnx_type);
  refuse(fmt::format("element type {} is not supported", name),
         "supported: FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT8, UINT8, INT32, INT64, BOOL");
}

int add_tensor_proto(Context& c, const TensorProto& t, std::string suffix) {
  if (t.has_segment()) refuse(fmt::format("tensor {} is split into segments", t.name()));
  const bool four_bit = t.data_type() == kInt4 || t.data_type() == kUint4;
  const DType dtype = four_bit ? DType::i8 : dtype_of(t.data_type());
  const Shape shape = shape_of(t);
  if (is_empty(shape)) return c.add_empty(dtype, shape);  // the shape of a scalar, no axes
  c.check_constant_size(dtype, shape);
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  if (four_bit) return add_four_bit(c, t, shape, count, std::move(suffix));
  return c.add_constant(dtype, shape, bytes_of(c, t, dtype, count), std::move(suffix));
}

}  // namespace assay::import
