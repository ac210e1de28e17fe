// Operators that make constants, and those that are only understood on constants.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "import/onnx/indexing.h"
#include "import/onnx/operators.h"
#include "ir/element.h"

namespace assay::import {

void import_constant(Context& c) {
  if (const onnx::TensorProto* t = c.tensor_attribute("value")) return c.bind(0, add_tensor_proto(c, *t, ""));
  const ir::DType f = ir::DType::f32, i = ir::DType::i64;
  if (c.has_attribute("value_float")) return c.bind(0, c.add_numbers(f, {}, {c.float_attribute("value_float", 0)}));
  if (c.has_attribute("value_int")) return c.bind(0, c.add_integers(i, {}, {c.int_attribute("value_int", 0)}));
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
  c.check_constant_size(dtype, shape);
  size_t count = 1;
  for (int64_t extent : shape) count *= static_cast<size_t>(extent);
  std::vector<std::byte> bytes(count * element.size());
  for (size_t i = 0; i < count; ++i) std::memcpy(bytes.data() + i * element.size(), element.data(), element.size());
  c.bind(0, c.add_constant(dtype, shape, std::move(bytes)));
}

namespace {

// The wanted positions in [0, extent).
Shape gather_places(const Context& c, int indices, int64_t extent) {
  Shape places = c.integers(indices);
  for (int64_t& v : places) {
    if (v < -extent || v >= extent) refuse(fmt::format("index {} is outside {} elements", v, extent));
    if (v < 0) v += extent;
  }
  return places;
}

// The step between neighbours when the positions are an arithmetic sequence.
std::optional<int64_t> step_of(const Shape& places) {
  const int64_t step = places.size() > 1 ? places[1] - places[0] : 0;
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i] - places[i - 1] != step) return std::nullopt;
  return step;
}

void gather_bytes(Context& c, int data, size_t axis, const Shape& places, const Shape& to) {
  const Shape from = c.shape(data);
  const ir::DType dtype = c.tensor(data).dtype;
  c.check_constant_size(dtype, to);
  size_t outer = 1, inner = static_cast<size_t>(ir::bytes_of(dtype));
  for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(from[d]);
  for (size_t d = axis + 1; d < from.size(); ++d) inner *= static_cast<size_t>(from[d]);
  std::vector<std::byte> bytes(outer * places.size() * inner);
  const std::vector<std::byte>& source = c.bytes(data);
  std::byte* at = bytes.data();
  for (size_t o = 0; o < outer; ++o)
    for (int64_t place : places) {
      const size_t row = o * static_cast<size_t>(from[axis]) + static_cast<size_t>(place);
      std::memcpy(at, source.data() + row * inner, inner);
      at += inner;
    }
  c.bind(0, c.add_constant(dtype, to, std::move(bytes)));
}

}  // namespace

// With constant indices: copied bytes when the data is constant too, else a read with a step, which
// needs evenly spaced indices.
void import_gather(Context& c) {
  const int data = c.input(0), indices = c.input(1);
  const Shape from = c.shape(data), picked = c.shape(indices);
  const size_t axis = normal_axis(c.int_attribute("axis", 0), from.size());
  const Shape places = gather_places(c, indices, from[axis]);
  Shape to(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(axis));
  to.insert(to.end(), picked.begin(), picked.end());
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(axis) + 1, from.end());
  c.check_shape(to);
  if (c.is_constant(data)) return gather_bytes(c, data, axis, places, to);
  const std::optional<int64_t> step = step_of(places);
  if (!step) refuse("indices that are not evenly spaced are not supported on computed data");
  ir::Index place = ir::constant(places[0]);
  int64_t stride = *step;
  for (size_t d = picked.size(); d-- > 0; stride *= picked[d])
    if (picked[d] > 1) place = std::move(place) + ir::variable(static_cast<int>(axis + d), stride);
  std::vector<ir::Index> at;
  for (size_t d = 0; d < from.size(); ++d)
    at.push_back(d == axis ? place : ir::variable(static_cast<int>(d < axis ? d : d + picked.size() - 1)));
  Expression e;
  e.op = "gather";
  e.spatial = axes_for(to);
  e.reads = {plain_read(data, std::move(at))};
  e.body = ir::read(0);
  c.bind(0, c.emit(std::move(e)));
}

namespace {

void cast_bytes(Context& c, int x, ir::DType to) {
  const ir::DType from = c.tensor(x).dtype;
  c.check_constant_size(to, c.shape(x));
  const std::vector<std::byte>& source = c.bytes(x);
  const size_t a = static_cast<size_t>(ir::bytes_of(from)), b = static_cast<size_t>(ir::bytes_of(to));
  std::vector<std::byte> bytes(source.size() / a * b);
  for (size_t i = 0; i < source.size() / a; ++i) {
    if (ir::is_integer(from) && ir::is_integer(to))
      ir::store_integer(to, bytes.data() + i * b, ir::load_integer(from, source.data() + i * a));
    else
      ir::store_element(to, bytes.data() + i * b, ir::load_element(from, source.data() + i * a));
  }
  c.bind(0, c.add_constant(to, c.shape(x), std::move(bytes)));
}

}  // namespace

void import_cast(Context& c) {
  const int x = c.input(0);
  const ir::DType to = dtype_of(static_cast<int>(std::clamp<int64_t>(c.int_attribute("to", 0), -1, 1000)));
  if (to == c.tensor(x).dtype) return c.bind(0, x);
  if (c.is_constant(x)) return cast_bytes(c, x, to);
  if (ir::is_integer(to) || ir::is_integer(c.tensor(x).dtype))
    refuse(fmt::format("from {} to {} at run time is not supported", ir::name_of(c.tensor(x).dtype), ir::name_of(to)));
  Expression e;
  e.op = "cast";
  e.spatial = axes_for(c.shape(x));
  e.reads = {plain_read(x, identity_index(c.shape(x).size()))};
  e.body = ir::read(0);
  e.dtype = to;
  c.bind(0, c.emit(std::move(e)));
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
  if (!(count >= 1) || count > 1e9) refuse("the range is empty or too long");
  const Shape shape = {static_cast<int64_t>(count)};
  c.check_constant_size(dtype, shape);
  std::vector<double> values;
  for (int64_t i = 0; i < shape[0]; ++i) values.push_back(start + static_cast<double>(i) * delta);
  c.bind(0, c.add_numbers(dtype, shape, values));
}

}  // namespace assay::import
