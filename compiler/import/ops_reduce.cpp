// Reductions: sum, mean, max, min, product, norms and logarithms of sums; ArgMax, ArgMin, Hardmax.
// The axes are an attribute or, in later opsets, an input; none given means all, unless
// noop_with_empty_axes says otherwise.
#include <fmt/format.h>

#include <limits>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/reduction.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::Combiner;
using ir::number;
using ir::Scalar;
using ir::ScalarOp;

std::vector<size_t> reduced_axes(const Context& c, size_t rank) {
  Shape axes = c.has_input(1) ? c.integers(c.input(1)) : c.ints_attribute("axes");
  if (axes.empty() && c.int_attribute("noop_with_empty_axes", 0) == 0) return axes_from(0, rank);
  return normal_axes(axes, rank);
}

bool keeps(const Context& c) { return c.int_attribute("keepdims", 1) != 0; }

// One expression after the reduction, over its result.
int then(Context& c, int x, std::string op, ScalarOp f) {
  Expression e = pointwise(std::move(op), c.shape(x), c.tensor(x).dtype);
  e.reads = {plain_read(x, identity_index(c.shape(x).size()))};
  e.body = call(f, ir::read(0));
  return c.emit(std::move(e));
}

int reduced(Context& c, std::string op, Combiner combine, Scalar body, bool part = false) {
  const int x = c.input(0);
  return reduce(c, x, reduced_axes(c, c.shape(x).size()),
                {std::move(op), combine, std::move(body), {}, keeps(c), part})
      .tensor;
}

}  // namespace

void import_reduce_sum(Context& c) {
  c.bind(0, reduced(c, "reduce_sum", Combiner::sum, ir::read(0)));
}
void import_reduce_max(Context& c) {
  c.bind(0, reduced(c, "reduce_max", Combiner::max, ir::read(0)));
}
void import_reduce_min(Context& c) {
  c.bind(0, reduced(c, "reduce_min", Combiner::min, ir::read(0)));
}
void import_reduce_prod(Context& c) {
  c.bind(0, reduced(c, "reduce_prod", Combiner::product, ir::read(0)));
}
void import_reduce_l1(Context& c) {
  c.bind(0, reduced(c, "reduce_l1", Combiner::sum, call(ScalarOp::abs, ir::read(0))));
}

void import_reduce_mean(Context& c) {
  const int x = c.input(0);
  if (ir::is_integer(c.tensor(x).dtype)) refuse("the mean of integers is not supported");
  const double count = count_over(c.shape(x), reduced_axes(c, c.shape(x).size()));
  c.bind(0, reduced(c, "reduce_mean", Combiner::sum, mul(ir::read(0), number(1 / count))));
}

void import_reduce_sum_square(Context& c) {
  c.bind(0, reduced(c, "reduce_sum_square", Combiner::sum, mul(ir::read(0), ir::read(0))));
}

void import_reduce_l2(Context& c) {
  const int squares =
      reduced(c, "reduce_sum_square", Combiner::sum, mul(ir::read(0), ir::read(0)), true);
  c.bind(0, then(c, squares, "sqrt", ScalarOp::sqrt));
}

void import_reduce_log_sum(Context& c) {
  c.bind(0,
         then(c, reduced(c, "reduce_sum", Combiner::sum, ir::read(0), true), "log", ScalarOp::log));
}

// max + log(sum(exp(x - max))): does not overflow.
void import_reduce_log_sum_exp(Context& c) {
  const int x = c.input(0);
  const std::vector<size_t> axes = reduced_axes(c, c.shape(x).size());
  const Reduced top = reduce(c, x, axes, {"reduce_max", Combiner::max, ir::read(0), {}, keeps(c)});
  Expression shifted = with_reduced(c, x, top, "exp");
  shifted.body = call(ScalarOp::exp, sub(ir::read(0), ir::read(1)));
  const Reduced sum = reduce(c, c.emit(std::move(shifted)), axes,
                             {"reduce_sum", Combiner::sum, ir::read(0), {}, keeps(c)});
  Expression e = pointwise("log_sum_exp", c.shape(sum.tensor), c.tensor(x).dtype);
  const std::vector<ir::Index> here = identity_index(c.shape(sum.tensor).size());
  e.reads = {plain_read(sum.tensor, here), plain_read(top.tensor, here)};
  e.body = add(call(ScalarOp::log, ir::read(0)), ir::read(1));
  c.bind(0, c.emit(std::move(e)));
}

namespace {

// Where along `axis` the extreme is, the first (or last) place of equal ones:
//   min(k) x[k] == extreme ? k : infinity,  or  max(k) x[k] == extreme ? k : -infinity
// Where there is a NaN it is the extreme, as in numpy.
Reduced arg_extreme(Context& c, int x, size_t axis, bool largest, bool last, bool keep) {
  const Reduced extreme = reduce(c, x, {axis},
                                 {largest ? "reduce_max" : "reduce_min",
                                  largest ? Combiner::max : Combiner::min,
                                  ir::read(0),
                                  {},
                                  keep});
  const size_t rank = c.shape(x).size(), spatial = keep ? rank : rank - 1;
  Expression e =
      pointwise(largest ? "arg_max" : "arg_min", c.shape(extreme.tensor), ir::DType::i64, "place");
  e.reduce = {{"k", c.shape(x)[axis]}};
  e.combine = last ? Combiner::max : Combiner::min;
  std::vector<ir::Index> at;
  for (size_t d = 0; d < rank; ++d)
    at.push_back(ir::variable(static_cast<int>(d == axis          ? spatial
                                               : d < axis || keep ? d
                                                                  : d - 1)));
  e.reads = {plain_read(x, std::move(at)), plain_read(extreme.tensor, identity_index(spatial))};
  e.body = place_of_extreme(axis_value(spatial), ir::identity_of(e.combine));
  return {c.emit(std::move(e)), extreme.at};
}

void arg(Context& c, bool largest) {
  const int x = c.input(0);
  const size_t axis = normal_axis(c.int_attribute("axis", 0), c.shape(x).size());
  c.bind(0, arg_extreme(c, x, axis, largest, c.int_attribute("select_last_index", 0) != 0, keeps(c))
                .tensor);
}

}  // namespace

void import_arg_max(Context& c) { arg(c, true); }
void import_arg_min(Context& c) { arg(c, false); }

// 1 at the first largest element along the axis, 0 elsewhere. Until opset 12 all dimensions from
// the axis on are one.
void import_hardmax(Context& c) {
  const Shape shape = c.shape(c.input(0));
  if (shape.empty()) refuse("a scalar has no axis");
  size_t axis = normal_axis(c.int_attribute("axis", c.opset >= 13 ? -1 : 1), shape.size());
  int x = c.input(0);
  if (c.opset < 13) {
    const int64_t columns = static_cast<int64_t>(count_over(shape, axes_from(axis, shape.size())));
    x = reshaped(
        c, x,
        {static_cast<int64_t>(count_over(shape, axes_from(0, shape.size()))) / columns, columns});
    axis = 1;
  }
  const Reduced place = arg_extreme(c, x, axis, true, false, false);
  Expression e = pointwise("hardmax", c.shape(x), c.tensor(x).dtype);
  e.reads = {plain_read(place.tensor, place.at)};
  e.body = equal(ir::read(0), axis_value(axis));
  c.bind(0, reshaped(c, c.emit(std::move(e)), shape));
}

}  // namespace assay::import
