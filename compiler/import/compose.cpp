#include "compiler/import/compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/import/indexing.h"
#include "compiler/import/reduction.h"

namespace assay::import {

using ir::number;
using ir::ScalarOp;

bool wants_output(const Context& c, int i) {
  return i < c.node().output_size() && !c.node().output(i).empty();
}

int optional_input(const Context& c, int i) { return c.has_input(i) ? c.input(i) : -1; }

int transposed(Context& c, int x, const std::vector<size_t>& order, std::string suffix) {
  const Shape from = c.shape(x);
  Shape to;
  std::vector<ir::Index> at(from.size());
  for (size_t d = 0; d < order.size(); ++d) {
    to.push_back(from[order[d]]);
    at[order[d]] = ir::variable(static_cast<int>(d));
  }
  Expression e = pointwise("transpose", to, c.tensor(x).dtype, std::move(suffix));
  e.reads = {plain_read(x, std::move(at))};
  e.body = ir::read(0);
  return c.emit(std::move(e));
}

// The sum of one guarded read per part: outside its part each gives 0.
int concatenated(Context& c, const std::vector<int>& parts, size_t axis, std::string suffix) {
  if (parts.size() == 1) return parts[0];
  if (parts.size() > 128) refuse("more than 128 operands");
  Shape to = c.shape(parts[0]);
  to[axis] = 0;
  Expression e;
  e.op = "concat";
  e.suffix = std::move(suffix);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Shape part = c.shape(parts[i]);
    if (part.size() != to.size()) refuse("the operands have different ranks");
    for (size_t d = 0; d < to.size(); ++d)
      if (d != axis && part[d] != to[d])
        refuse(fmt::format("operand {} has extent {} in dimension {}, the first has {}", i, part[d],
                           d, to[d]));
    std::vector<ir::Index> at = identity_index(to.size());
    at[axis] = std::move(at[axis]) + -to[axis];
    e.reads.push_back(guarded_read(parts[i], std::move(at), 0));
    e.body = i == 0 ? ir::read(0) : add(std::move(e.body), ir::read(static_cast<int>(i)));
    to[axis] += part[axis];
    c.check_shape(to);
  }
  e.spatial = axes_for(to);
  return c.emit(std::move(e));
}

int part_of(Context& c, int x, size_t axis, int64_t start, int64_t count) {
  Shape to = c.shape(x);
  if (start == 0 && count == to[axis]) return x;
  to[axis] = count;
  std::vector<ir::Index> at = identity_index(to.size());
  at[axis] = std::move(at[axis]) + start;
  Expression e = pointwise("slice", to, c.tensor(x).dtype, "part");
  e.reads = {plain_read(x, std::move(at))};
  e.body = ir::read(0);
  return c.emit(std::move(e));
}

int sum_of(Context& c, int a, int b, std::string suffix) {
  const Shape to = broadcast(c.shape(a), c.shape(b));
  Expression e = pointwise("add", to, c.tensor(a).dtype, std::move(suffix));
  ir::Scalar left = broadcast_operand(c, a, to, e.reads);
  e.body = add(std::move(left), broadcast_operand(c, b, to, e.reads));
  return c.emit(std::move(e));
}

int with_bias(Context& c, int x, int bias) {
  const Shape shape = c.shape(x);
  if (shape.empty() || c.shape(bias) != Shape{shape.back()})
    refuse(fmt::format("the bias has shape [{}], expected [{}]", fmt::join(c.shape(bias), ", "),
                       shape.empty() ? 0 : shape.back()));
  return sum_of(c, x, bias, "bias");
}

namespace {

// max(x, low), where rows may have no elements that count.
Reduced at_least(Context& c, Reduced r, double low, std::string op) {
  const Shape shape = c.shape(r.tensor);
  Expression e = pointwise("max", shape, c.tensor(r.tensor).dtype, std::move(op));
  e.reads = {plain_read(r.tensor, identity_index(shape.size()))};
  e.body = max(ir::read(0), number(low));
  r.tensor = c.emit(std::move(e));
  return r;
}

}  // namespace

// In four expressions. Of a row of minus infinities, exp gives zeros and the sum is 0: any divisor
// will do. The sum of any other row is 1 or more.
int softmax(Context& c, int x, const std::vector<size_t>& axes, bool empty_rows) {
  Reduced top = reduce(c, x, axes, {"softmax_max", ir::Combiner::max, ir::read(0)});
  if (empty_rows)
    top = at_least(c, std::move(top), static_cast<double>(std::numeric_limits<float>::lowest()),
                   "softmax_finite");
  Expression shifted = with_reduced(c, x, top, "softmax_exp");
  shifted.body = call(ScalarOp::exp, sub(ir::read(0), ir::read(1)));
  const int powers = c.emit(std::move(shifted));
  Reduced sum = reduce(c, powers, axes, {"softmax_sum", ir::Combiner::sum, ir::read(0)});
  if (empty_rows) sum = at_least(c, std::move(sum), 0.5, "softmax_positive");
  Expression quotient = with_reduced(c, powers, sum, "softmax_div");
  quotient.body = div(ir::read(0), ir::read(1));
  return c.emit(std::move(quotient));
}

View plain_view(const Context& c, int tensor) {
  View v{tensor, std::vector<size_t>(c.shape(tensor).size())};
  std::iota(v.order.begin(), v.order.end(), size_t{0});
  return v;
}

}  // namespace assay::import
