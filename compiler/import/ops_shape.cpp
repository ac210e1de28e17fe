// Operators that give the same elements another shape, and those that read shapes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/limits.h"

namespace assay::import {
namespace {

int64_t count_of(const Shape& shape) {
  if (is_empty(shape)) return 0;
  if (!ir::shape_fits(shape))
    refuse(fmt::format("the shape [{}] is out of bounds", fmt::join(shape, ", ")));
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// The row-major position of a point of `shape`.
ir::Index flat_index(const Shape& shape) {
  ir::Index flat;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] > 1) flat = std::move(flat) + ir::variable(static_cast<int>(d), stride);
    stride *= shape[d];
  }
  return flat;
}

void reshape_to(Context& c, int x, const Shape& to) { c.bind(0, reshaped(c, x, to, "")); }

// The axes of Squeeze and Unsqueeze: an attribute until opset 12, then an input.
Shape axes_argument(const Context& c) {
  return c.has_input(1) ? c.integers(c.input(1)) : c.ints_attribute("axes");
}

}  // namespace

// Reads x at the flattened position of the output: per dimension (flat / stride) % extent, which
// simplifies to plain axes where only ones come and go.
int reshaped(Context& c, int x, const Shape& to, std::string suffix) {
  const Shape from = c.shape(x);
  if (from == to) return x;
  if (is_empty(from) && is_empty(to)) return c.add_empty(c.tensor(x).dtype, to);
  c.check_shape(to);
  if (count_of(from) != count_of(to))
    refuse(fmt::format("[{}] can not be reshaped to [{}]: {} and {} elements",
                       fmt::join(from, ", "), fmt::join(to, ", "), count_of(from), count_of(to)));
  Expression e;
  e.op = "reshape";
  e.suffix = std::move(suffix);
  e.spatial = axes_for(to);
  const std::vector<ir::Range> ranges = ranges_of(e.spatial);
  const ir::Index flat = flat_index(to);
  std::vector<ir::Index> at(from.size());
  int64_t stride = 1;
  for (size_t d = from.size(); d-- > 0;) {
    at[d] = ir::simplify(ir::modulo(ir::divide(flat, stride, ranges), from[d], ranges), ranges);
    stride *= from[d];
  }
  e.reads = {plain_read(x, std::move(at))};
  e.body = ir::read(0);
  return c.emit(std::move(e));
}

void import_reshape(Context& c) {
  const int x = c.input(0);
  const Shape from = c.shape(x);
  Shape to = c.has_input(1) ? c.integers(c.input(1)) : c.ints_attribute("shape");
  const bool zero_is_zero = c.int_attribute("allowzero", 0) != 0;
  int64_t known = 1;
  size_t inferred = to.size();
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 0 && !zero_is_zero) {
      if (d >= from.size())
        refuse(fmt::format("dimension {} is to be kept, the input has {}", d, from.size()));
      to[d] = from[d];
    }
    if (to[d] == -1 && inferred == to.size()) {
      inferred = d;
      continue;
    }
    const bool allowed = to[d] > 0 || (to[d] == 0 && is_empty(from));
    if (!allowed || to[d] > ir::kMaxExtent ||
        known > ir::kMaxElements / std::max<int64_t>(to[d], 1))
      refuse(fmt::format("the shape [{}] is out of bounds", fmt::join(to, ", ")));
    known *= to[d];
  }
  if (inferred < to.size() && known == 0)
    refuse(fmt::format("the shape [{}] does not follow from no elements", fmt::join(to, ", ")));
  if (inferred < to.size()) to[inferred] = count_of(from) / known;
  reshape_to(c, x, to);
}

void import_flatten(Context& c) {
  const int x = c.input(0);
  const Shape from = c.shape(x);
  const int64_t rank = static_cast<int64_t>(from.size());
  int64_t axis = c.int_attribute("axis", 1);
  if (axis < -rank || axis > rank)
    refuse(fmt::format("axis {} is outside the {} dimensions", axis, rank));
  if (axis < 0) axis += rank;
  Shape to = {1, 1};
  for (int64_t d = 0; d < rank; ++d) to[d < axis ? 0 : 1] *= from[static_cast<size_t>(d)];
  reshape_to(c, x, to);
}

void import_squeeze(Context& c) {
  const int x = c.input(0);
  const Shape from = c.shape(x);
  const Shape argument = axes_argument(c);
  const std::vector<size_t> axes = normal_axes(argument, from.size());
  Shape to;
  for (size_t d = 0; d < from.size(); ++d) {
    const bool named = std::binary_search(axes.begin(), axes.end(), d);
    if (named && from[d] != 1)
      refuse(fmt::format("dimension {} has extent {}, only ones can be dropped", d, from[d]));
    if (!(named || (argument.empty() && from[d] == 1))) to.push_back(from[d]);
  }
  reshape_to(c, x, to);
}

void import_unsqueeze(Context& c) {
  const int x = c.input(0);
  const Shape from = c.shape(x);
  const Shape argument = axes_argument(c);
  const size_t rank = from.size() + argument.size();
  const std::vector<size_t> axes = normal_axes(argument, rank);
  Shape to;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d)
    to.push_back(std::binary_search(axes.begin(), axes.end(), d) ? 1 : from[next++]);
  reshape_to(c, x, to);
}

void import_identity(Context& c) { c.bind(0, c.input(0)); }

// At inference nothing is dropped; the mask says so. Training that drops nothing is the same.
void import_dropout(Context& c) {
  const int x = c.input(0);
  const std::optional<double> ratio = c.has_input(1) ? c.single(c.input(1)) : 0.5;
  const std::optional<double> training = c.has_input(2) ? c.single(c.input(2)) : 0;
  if ((!training || *training != 0) && (!ratio || *ratio != 0))
    refuse("training mode", "export the model for inference");
  c.bind(0, x);
  if (c.node().output_size() < 2 || c.node().output(1).empty()) return;
  const ir::DType mask = c.opset >= 10 ? ir::DType::boolean : c.tensor(x).dtype;
  c.check_constant_size(mask, c.shape(x));
  c.bind(1, c.add_numbers(mask, c.shape(x),
                          std::vector<double>(static_cast<size_t>(count_of(c.shape(x))), 1)));
}

void import_shape(Context& c) {
  const Shape shape = c.shape(c.input(0));
  const int64_t rank = static_cast<int64_t>(shape.size());
  const auto place = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const int64_t start = place(c.int_attribute("start", 0)),
                end = place(c.int_attribute("end", rank));
  if (start >= end) return c.bind(0, c.add_empty(ir::DType::i64));
  const std::vector<int64_t> part(shape.begin() + start, shape.begin() + end);
  c.bind(0, c.add_integers(ir::DType::i64, {end - start}, part));
}

void import_size(Context& c) {
  c.bind(0, c.add_integers(ir::DType::i64, {}, {count_of(c.shape(c.input(0)))}));
}

}  // namespace assay::import
