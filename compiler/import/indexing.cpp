#include "compiler/import/indexing.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/element.h"

namespace assay::import {

using ir::ScalarOp;

std::vector<ir::Axis> axes_for(const Shape& shape) {
  static constexpr const char* kImage[] = {"n", "c", "y", "x"};
  std::vector<ir::Axis> axes;
  for (size_t d = 0; d < shape.size(); ++d)
    axes.push_back({shape.size() == 4 ? kImage[d] : fmt::format("i{}", d), shape[d]});
  return axes;
}

std::vector<ir::Range> ranges_of(const std::vector<ir::Axis>& axes) {
  std::vector<ir::Range> ranges;
  for (const ir::Axis& axis : axes) ranges.push_back({0, axis.extent - 1});
  return ranges;
}

size_t normal_axis(int64_t axis, size_t rank) {
  const int64_t n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n)
    refuse(fmt::format("axis {} is outside the {} dimensions", axis, rank));
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

std::vector<size_t> normal_axes(const Shape& axes, size_t rank) {
  std::vector<size_t> sorted;
  for (int64_t axis : axes) sorted.push_back(normal_axis(axis, rank));
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    refuse(fmt::format("axes [{}] name one twice", fmt::join(axes, ", ")));
  return sorted;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  const auto at = [&](const Shape& s, size_t d) {
    const size_t missing = out.size() - s.size();
    return d < missing ? 1 : s[d - missing];
  };
  for (size_t d = 0; d < out.size(); ++d) {
    const int64_t x = at(a, d), y = at(b, d);
    if (x != y && x != 1 && y != 1)
      refuse(fmt::format("shapes [{}] and [{}] can not be broadcast", fmt::join(a, ", "),
                         fmt::join(b, ", ")));
    out[d] = x == 1 ? y : x;  // which may be 0
  }
  return out;
}

std::vector<ir::Index> broadcast_index(const Shape& from, const Shape& to, int first) {
  std::vector<ir::Index> index;
  const size_t missing = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    const bool spread = from[d] == 1;
    index.push_back(spread ? ir::constant(0) : ir::variable(first + static_cast<int>(missing + d)));
  }
  return index;
}

ir::Scalar broadcast_operand(const Context& c, int tensor, const Shape& to,
                             std::vector<ir::Read>& reads) {
  // Integers stay reads: a body's numbers are doubles, and folding must be exact.
  const std::optional<double> value = c.single(tensor);
  if (value && !ir::is_integer(c.tensor(tensor).dtype)) return ir::number(*value);
  reads.push_back(plain_read(tensor, broadcast_index(c.shape(tensor), to)));
  return ir::read(static_cast<int>(reads.size()) - 1);
}

ir::Read plain_read(int tensor, std::vector<ir::Index> index) {
  return {tensor, std::move(index), false, 0};
}

ir::Read guarded_read(int tensor, std::vector<ir::Index> index, double fill) {
  return {tensor, std::move(index), true, fill};
}

std::vector<ir::Index> identity_index(size_t rank) {
  std::vector<ir::Index> index;
  for (size_t d = 0; d < rank; ++d) index.push_back(ir::variable(static_cast<int>(d)));
  return index;
}

ir::Scalar add(ir::Scalar a, ir::Scalar b) {
  return ir::apply(ScalarOp::add, {std::move(a), std::move(b)});
}
ir::Scalar sub(ir::Scalar a, ir::Scalar b) {
  return ir::apply(ScalarOp::sub, {std::move(a), std::move(b)});
}
ir::Scalar mul(ir::Scalar a, ir::Scalar b) {
  return ir::apply(ScalarOp::mul, {std::move(a), std::move(b)});
}
ir::Scalar div(ir::Scalar a, ir::Scalar b) {
  return ir::apply(ScalarOp::div, {std::move(a), std::move(b)});
}
ir::Scalar max(ir::Scalar a, ir::Scalar b) {
  return ir::apply(ScalarOp::max, {std::move(a), std::move(b)});
}
ir::Scalar min(ir::Scalar a, ir::Scalar b) {
  return ir::apply(ScalarOp::min, {std::move(a), std::move(b)});
}
ir::Scalar call(ScalarOp op, ir::Scalar a) { return ir::apply(op, {std::move(a)}); }
ir::Scalar power(ir::Scalar a, ir::Scalar b) {
  return ir::apply(ScalarOp::pow, {std::move(a), std::move(b)});
}
ir::Scalar less(ir::Scalar a, ir::Scalar b) {
  return ir::apply(ScalarOp::less, {std::move(a), std::move(b)});
}
ir::Scalar equal(ir::Scalar a, ir::Scalar b) {
  return ir::apply(ScalarOp::equal, {std::move(a), std::move(b)});
}

ir::Scalar choose(ir::Scalar condition, ir::Scalar yes, ir::Scalar no) {
  return ir::apply(ScalarOp::select, {std::move(condition), std::move(yes), std::move(no)});
}

ir::Scalar place_of_extreme(ir::Scalar place, double none) {
  const ir::Scalar x = ir::read(0);
  ir::Scalar of_nan = choose(equal(x, x), ir::number(none), place);
  return choose(equal(x, ir::read(1)), std::move(place), std::move(of_nan));
}

ir::Scalar truncated(ir::Scalar a) {
  return choose(less(a, ir::number(0)), call(ScalarOp::ceil, a), call(ScalarOp::floor, a));
}

ir::Scalar axis_value(size_t axis) {
  ir::Scalar s;
  s.op = ScalarOp::axis;
  s.operand = static_cast<int>(axis);
  return s;
}

Expression pointwise(std::string op, const Shape& shape, ir::DType dtype, std::string suffix) {
  Expression e;
  e.op = std::move(op);
  e.suffix = std::move(suffix);
  e.spatial = axes_for(shape);
  e.dtype = dtype;
  return e;
}

}  // namespace assay::import
