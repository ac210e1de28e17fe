// Operators that make constants, and those that are only understood on constants.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/element.h"

namespace assay::import {

void import_constant(Context& c) {
  if (const onnx::TensorProto* t = c.tensor_attribute("value"))
    return c.bind(0, add_tensor_proto(c, *t, ""));
  const ir::DType f = ir::DType::f32, i = ir::DType::i64;
  if (c.has_attribute("value_float"))
    return c.bind(0, c.add_numbers(f, {}, {c.float_attribute("value_float", 0)}));
  if (c.has_attribute("value_int"))
    return c.bind(0, c.add_integers(i, {}, {c.int_attribute("value_int", 0)}));
  if (c.has_attribute("value_floats")) {
    const std::vector<double> values = c.floats_attribute("value_floats");
    return c.bind(0, c.add_numbers(f, {static_cast<int64_t>(values.size())}, values));
  }
  if (c.has_attribute("value_ints")) {
    const Shape values = c.ints_attribute("value_ints");
    return c.bind(0, c.add_integers(i, {static_cast<int64_t>(values.size())}, values));
  }
  refuse("none of its attributes value, value_float, value_int, value_floats, value_ints is there");
}

void import_constant_of_shape(Context& c) {
  const Shape shape = c.integers(c.input(0));
  ir::DType dtype = ir::DType::f32;
  std::vector<std::byte> element(4, std::byte{0});
  if (const onnx::TensorProto* t = c.tensor_attribute("value")) {
    const int value = add_tensor_proto(c, *t, "value");
    if (ir::elements(c.tensor(value)) != 1) refuse("its value must have one element");
    dtype = c.tensor(value).dtype;
    element = c.bytes(value);
  }
  if (is_empty(shape)) return c.bind(0, c.add_empty(dtype, shape));
  c.check_constant_size(dtype, shape);
  size_t count = 1;
  for (int64_t extent : shape) count *= static_cast<size_t>(extent);
  std::vector<std::byte> bytes(count * element.size());
  for (size_t i = 0; i < count; ++i)
    std::memcpy(bytes.data() + i * element.size(), element.data(), element.size());
  c.bind(0, c.add_constant(dtype, shape, std::move(bytes)));
}

void import_range(Context& c) {
  const ir::DType dtype = c.tensor(c.input(0)).dtype;
  const auto argument = [&](int i) {
    const std::optional<double> v = c.single(c.input(i));
    if (!v) refuse("start, limit and delta must be constant");
    return *v;
  };
  const double start = argument(0), limit = argument(1), delta = argument(2);
  const double count = std::ceil((limit - start) / delta);
  if (count <= 0) return c.bind(0, c.add_empty(dtype));
  if (!(count >= 1) || count > 1e9) refuse("the range is too long");
  const Shape shape = {static_cast<int64_t>(count)};
  c.check_constant_size(dtype, shape);
  std::vector<double> values;
  for (int64_t i = 0; i < shape[0]; ++i) values.push_back(start + static_cast<double>(i) * delta);
  c.bind(0, c.add_numbers(dtype, shape, values));
}

}  // namespace assay::import
