// Pad: constant, reflect, edge and wrap; negative amounts cut.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/limits.h"

namespace assay::import {
namespace {

struct Amounts {
  Shape before, after;  // per dimension
};

// Elements before each dimension, then after each; with an axes input only those dimensions.
Amounts pad_amounts(const Context& c, size_t rank) {
  const Shape pads =
      c.opset >= 11 ? c.integers(c.input(1)) : c.ints_attribute(c.opset < 2 ? "paddings" : "pads");
  Shape axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.has_input(3)) axes = c.integers(c.input(3));
  normal_axes(axes, rank);
  if (pads.size() != 2 * axes.size())
    refuse(fmt::format("{} pads for {} dimensions, expected {}", pads.size(), axes.size(),
                       2 * axes.size()));
  for (int64_t v : pads)
    if (v < -ir::kMaxExtent || v > ir::kMaxExtent) refuse("pads are out of bounds");
  Amounts amounts{Shape(rank, 0), Shape(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t d = normal_axis(axes[i], rank);
    amounts.before[d] = pads[i];
    amounts.after[d] = pads[axes.size() + i];
  }
  return amounts;
}

Shape padded_shape(const Shape& from, const Amounts& pads) {
  Shape to = from;
  for (size_t d = 0; d < from.size(); ++d) to[d] += pads.before[d] + pads.after[d];
  return to;
}

// 1 where the point is in the part that x fills.
ir::Scalar is_inside(const Shape& from, const Amounts& pads) {
  ir::Scalar inside = ir::number(1);
  for (size_t d = 0; d < from.size(); ++d) {
    const auto put = [&](ir::Scalar outside) {
      inside = choose(std::move(outside), ir::number(0), std::move(inside));
    };
    const double first = static_cast<double>(pads.before[d]),
                 last = first + static_cast<double>(from[d]) - 1;
    if (pads.before[d] > 0) put(less(axis_value(d), ir::number(first)));
    if (pads.after[d] > 0) put(less(ir::number(last), axis_value(d)));
  }
  return inside;
}

struct Value {
  double number = 0;
  int operand = -1;  // its tensor, when it is known only at run time
};

// An attribute, or from opset 11 on an operand with one element.
Value read_value(const Context& c) {
  if (c.opset < 11 || !c.has_input(2)) return {c.float_attribute("value", 0), -1};
  if (ir::elements(c.tensor(c.input(2))) != 1) refuse("the padding value must have one element");
  if (const std::optional<double> given = c.single(c.input(2))) return {*given, -1};
  return {0, c.input(2)};
}

void pad_with_value(Context& c, int x, const Amounts& pads) {
  const Shape from = c.shape(x), to = padded_shape(from, pads);
  const Value value = read_value(c);
  std::vector<ir::Index> at;
  for (size_t d = 0; d < from.size(); ++d)
    at.push_back(ir::variable(static_cast<int>(d)) + -pads.before[d]);
  const auto grows = [](const Shape& amounts) {
    return std::any_of(amounts.begin(), amounts.end(), [](int64_t v) { return v > 0; });
  };
  Expression e = pointwise("pad", to, c.tensor(x).dtype);
  e.reads = {grows(pads.before) || grows(pads.after) ? guarded_read(x, at, value.number)
                                                     : plain_read(x, at)};
  e.body = ir::read(0);
  if (is_empty(from)) {
    e.reads.clear();
    e.body = ir::number(value.number);
  }
  if (value.operand >= 0) {
    const ir::Scalar outside = broadcast_operand(c, value.operand, c.shape(value.operand), e.reads);
    e.body = is_empty(from) ? outside : choose(is_inside(from, pads), ir::read(0), outside);
  }
  c.bind(0, c.emit(std::move(e)));
}

// Negative amounts cut before the rest is padded.
int cut(Context& c, int x, Amounts& pads) {
  for (size_t d = 0; d < pads.before.size(); ++d) {
    const int64_t before = std::max<int64_t>(0, -pads.before[d]),
                  after = std::max<int64_t>(0, -pads.after[d]);
    if (before + after > c.shape(x)[d])
      refuse(fmt::format("pads {} and {} of {} elements", pads.before[d], pads.after[d],
                         c.shape(x)[d]));
    x = part_of(c, x, d, before, c.shape(x)[d] - before - after);
    pads.before[d] += before;
    pads.after[d] += after;
  }
  return x;
}

// The indices that give the elements before and after the `extent` elements of a dimension, over
// the output's coordinate i.
struct Sides {
  ir::Index before, after;
};

Sides sides_of(const std::string& mode, int axis, int64_t extent, int64_t before) {
  const ir::Index i = ir::variable(axis);
  if (mode == "edge") return {ir::constant(0), ir::constant(extent - 1)};
  if (mode == "wrap") return {i + (extent - before), i + (-before - extent)};
  return {i * -1 + before,
          i * -1 + (before + 2 * (extent - 1))};  // reflect: the border itself is not repeated
}

// One dimension: three reads, of which each point chooses one.
int pad_dimension(Context& c, int x, size_t d, const std::string& mode, int64_t before,
                  int64_t after) {
  Shape to = c.shape(x);
  const int64_t extent = to[d], reach = mode == "reflect" ? extent - 1 : extent;
  if (mode != "edge" && std::max(before, after) > reach)
    refuse(fmt::format("{} and {} elements of padding, mode {} has {} to repeat", before, after,
                       mode, reach));
  to[d] += before + after;
  Expression e = pointwise("pad", to, c.tensor(x).dtype, fmt::format("{}{}", mode, d));
  std::vector<ir::Index> at = identity_index(to.size());
  at[d] = ir::variable(static_cast<int>(d)) + -before;
  e.reads = {guarded_read(x, at, 0)};
  e.body = ir::read(0);
  const Sides sides = sides_of(mode, static_cast<int>(d), extent, before);
  const auto outside = [&](const ir::Index& index, ir::Scalar where) {
    at[d] = index;
    e.reads.push_back(guarded_read(x, at, 0));
    e.body =
        choose(std::move(where), ir::read(static_cast<int>(e.reads.size()) - 1), std::move(e.body));
  };
  if (before > 0)
    outside(sides.before, less(axis_value(d), ir::number(static_cast<double>(before))));
  if (after > 0)
    outside(sides.after, less(ir::number(static_cast<double>(before + extent - 1)), axis_value(d)));
  return c.emit(std::move(e));
}

}  // namespace

void import_pad(Context& c) {
  int x = c.input(0);
  Amounts pads = pad_amounts(c, c.shape(x).size());
  if (const Shape to = padded_shape(c.shape(x), pads); !is_empty(to)) c.check_shape(to);
  const std::string mode = c.string_attribute("mode", "constant");
  if (mode == "constant") return pad_with_value(c, x, pads);
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    refuse(fmt::format("mode {} is not known", mode),
           "the modes are constant, reflect, edge and wrap");
  x = cut(c, x, pads);
  for (size_t d = 0; d < pads.before.size(); ++d) {
    if (pads.before[d] > 0 || pads.after[d] > 0)
      x = pad_dimension(c, x, d, mode, pads.before[d], pads.after[d]);
  }
  c.bind(0, x);
}

}  // namespace assay::import
