// Operators that take elements from computed positions: DepthToSpace, SpaceToDepth, Trilu, EyeLike,
// CumSum.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"

namespace assay::import {
namespace {

using ir::Index;

// (variable / divisor) % period * coeff; a period of 0: no modulo.
Index part(int var, int64_t divisor, int64_t period, int64_t coeff = 1) {
  return Index{{ir::Term{coeff, var, {}, divisor, period}}, 0};
}

int64_t block_of(const Context& c, const Shape& shape) {
  const int64_t block = c.int_attribute("blocksize", 0);
  if (shape.size() != 4)
    refuse(fmt::format("the input has {} dimensions, expected 4", shape.size()));
  if (block < 1 || block > (int64_t{1} << 20))
    refuse(fmt::format("blocksize {} is out of bounds", block));
  return block;
}

bool depth_first(const Context& c) {
  const std::string mode = c.string_attribute("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") refuse(fmt::format("mode {} is not known", mode));
  return mode == "DCR";
}

void emit_move(Context& c, std::string op, int x, const Shape& to, std::vector<Index> at) {
  Expression e = pointwise(std::move(op), to, c.tensor(x).dtype);
  const std::vector<ir::Range> ranges = ranges_of(e.spatial);
  for (Index& i : at) i = ir::simplify(i, ranges);
  e.reads = {plain_read(x, std::move(at))};
  e.body = ir::read(0);
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace

// The position in the block selects the channel: before the channel itself (DCR) or after it (CRD).
void import_depth_to_space(Context& c) {
  const int x = c.input(0);
  const Shape s = c.shape(x);
  const int64_t block = block_of(c, s), channels = s[1] / (block * block);
  if (channels * block * block != s[1])
    refuse(fmt::format("{} channels are not a multiple of {}", s[1], block * block));
  const bool first = depth_first(c);
  const int64_t unit = first ? channels : 1;
  Index channel = part(2, 1, block, unit * block) + part(3, 1, block, unit);
  channel = std::move(channel) + ir::variable(1, first ? 1 : block * block);
  emit_move(c, "depth_to_space", x, {s[0], channels, s[2] * block, s[3] * block},
            {ir::variable(0), std::move(channel), part(2, block, 0), part(3, block, 0)});
}

void import_space_to_depth(Context& c) {
  const int x = c.input(0);
  const Shape s = c.shape(x);
  const int64_t block = block_of(c, s);
  if (s[2] % block != 0 || s[3] % block != 0)
    refuse(fmt::format("{} x {} elements are not a multiple of {}", s[2], s[3], block));
  const bool first = depth_first(c);
  const int64_t unit = first ? s[1] : 1;
  emit_move(c, "space_to_depth", x, {s[0], s[1] * block * block, s[2] / block, s[3] / block},
            {ir::variable(0), first ? part(1, 1, s[1]) : part(1, block * block, 0),
             ir::variable(2, block) + part(1, unit * block, first ? 0 : block),
             ir::variable(3, block) + part(1, unit, block)});
}

// Keeps elements on and above (upper) or below the diagonal `k`, which runs at column - row = k.
void import_trilu(Context& c) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  if (shape.size() < 2) refuse("the input is not a matrix");
  const std::optional<double> given = c.has_input(1) ? c.single(c.input(1)) : 0.0;
  if (!given) refuse("k must be a constant with one element");
  const ir::Scalar row = axis_value(shape.size() - 2), column = axis_value(shape.size() - 1);
  const ir::Scalar k = ir::number(std::clamp(*given, -1e12, 1e12)), distance = sub(column, row);
  const bool upper = c.int_attribute("upper", 1) != 0;
  Expression e = pointwise("trilu", shape, c.tensor(x).dtype);
  e.reads = {plain_read(x, identity_index(shape.size()))};
  e.body = choose(upper ? less(distance, k) : less(k, distance), ir::number(0), ir::read(0));
  c.bind(0, c.emit(std::move(e)));
}

void import_eye_like(Context& c) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  if (shape.size() != 2)
    refuse(fmt::format("the input has {} dimensions, expected 2", shape.size()));
  const int64_t k = c.int_attribute("k", 0);
  const ir::DType dtype =
      c.has_attribute("dtype")
          ? dtype_of(static_cast<int>(std::clamp<int64_t>(c.int_attribute("dtype", 0), -1, 1000)))
          : c.tensor(x).dtype;
  c.check_constant_size(dtype, shape);
  std::vector<double> values(static_cast<size_t>(shape[0] * shape[1]), 0);
  for (int64_t row = 0; row < shape[0]; ++row)
    if (k >= -row && k < shape[1] - row) values[static_cast<size_t>(row * shape[1] + row + k)] = 1;
  c.bind(0, c.add_numbers(dtype, shape, values));
}

// y[.., i, ..] = the sum of x[.., 0..i, ..]; exclusive: without x[.., i, ..]; reverse: from the
// end.
void import_cum_sum(Context& c) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  const std::optional<double> given = c.single(c.input(1));
  if (!given) refuse("the axis must be a constant with one element");
  const size_t axis =
      normal_axis(static_cast<int64_t>(std::clamp(*given, -1e6, 1e6)), shape.size());
  Expression e = pointwise("cum_sum", shape, c.tensor(x).dtype);
  e.combine = ir::Combiner::sum;
  e.kind = ir::Scan{static_cast<int>(axis), c.int_attribute("exclusive", 0) != 0,
                    c.int_attribute("reverse", 0) != 0};
  e.reads = {plain_read(x, identity_index(shape.size()))};
  e.body = ir::read(0);
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace assay::import
