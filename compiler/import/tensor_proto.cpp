// TensorProto -> constant: raw bytes or one of the typed fields, element counts checked.
#include <fmt/format.h>

#include <cstring>

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

std::vector<std::byte> raw_bytes(const TensorProto& t, DType dtype, int64_t count) {
  const int64_t size = ir::bytes_of(dtype);
  const int64_t have = static_cast<int64_t>(t.raw_data().size());
  if (have != count * size)
    refuse(fmt::format("tensor {} has {} bytes of data, its shape [{}] needs {}", t.name(), have,
                       fmt::join(shape_of(t), ", "), count * size));
  std::vector<std::byte> bytes(static_cast<size_t>(have));
  if (have > 0) std::memcpy(bytes.data(), t.raw_data().data(), bytes.size());
  return bytes;
}

// One element per entry of the field; 16-bit floats stand as their bits.
template <class Field>
std::vector<std::byte> field_bytes(const TensorProto& t, const Field& field, DType dtype,
                                   int64_t count) {
  if (field.size() != count) refuse_count(t, field.size(), count);
  const size_t size = static_cast<size_t>(ir::bytes_of(dtype));
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
  for (int i = 0; i < field.size(); ++i) {
    std::byte* at = bytes.data() + static_cast<size_t>(i) * size;
    if (dtype == DType::f16 || dtype == DType::bf16) {
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

std::vector<std::byte> bytes_of(const TensorProto& t, DType dtype, int64_t count) {
  if (t.has_raw_data()) return raw_bytes(t, dtype, count);
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
  if (t.data_location() == TensorProto::EXTERNAL)
    refuse(fmt::format("tensor {} lies in an external file", t.name()),
           "save the model as one file");
  if (t.has_segment()) refuse(fmt::format("tensor {} is split into segments", t.name()));
  const DType dtype = dtype_of(t.data_type());
  const Shape shape = shape_of(t);
  if (shape == Shape{0}) return c.add_empty(dtype);  // the shape of a scalar, no axes
  c.check_constant_size(dtype, shape);
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return c.add_constant(dtype, shape, bytes_of(t, dtype, count), std::move(suffix));
}

}  // namespace assay::import
