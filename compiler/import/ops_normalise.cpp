// BatchNormalization, Softmax, LogSoftmax, LRN: each as few expressions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/reduction.h"

namespace assay::import {
namespace {

using ir::number;
using ir::ScalarOp;

Expression over(const Context& c, int x, std::string op, std::string suffix) {
  Expression e;
  e.op = std::move(op);
  e.suffix = std::move(suffix);
  e.spatial = axes_for(c.shape(x));
  e.reads = {plain_read(x, identity_index(c.shape(x).size()))};
  return e;
}

// Statistics of each channel, or until opset 8 of each element of an image (spatial = 0).
struct Statistics {
  int scale, bias, mean, variance;
  Shape shape;
  std::vector<ir::Index> at;
};

Statistics read_statistics(const Context& c, const Shape& shape) {
  const bool each = c.opset < 9 && c.int_attribute("spatial", 1) == 0;
  Statistics s{c.input(1), c.input(2), c.input(3), c.input(4), {}, {}};
  for (size_t d = 1; d < (each ? shape.size() : 2); ++d) {
    s.shape.push_back(shape[d]);
    s.at.push_back(ir::variable(static_cast<int>(d)));
  }
  for (int i = 1; i <= 4; ++i)
    if (c.shape(c.input(i)) != s.shape)
      refuse(fmt::format("input {} has shape [{}], expected [{}]", c.tensor(c.input(i)).name,
                         fmt::join(c.shape(c.input(i)), ", "), fmt::join(s.shape, ", ")));
  return s;
}

}  // namespace

// Inference: scale * (x - mean) / sqrt(variance + epsilon) + bias. With constant statistics that is
// x * a[c] + b[c], a and b folded here in float64.
void import_batch_normalization(Context& c) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  if (shape.size() < 2) refuse("the input has no channels");
  if (c.int_attribute("training_mode", 0) != 0 ||
      (c.opset < 7 && c.int_attribute("is_test", 0) == 0))
    refuse("training mode", "export the model for inference");
  const Statistics s = read_statistics(c, shape);
  const double epsilon = c.float_attribute("epsilon", static_cast<double>(1e-5F));
  Expression e = over(c, x, "bn", "");
  if (c.is_constant(s.scale) && c.is_constant(s.bias) && c.is_constant(s.mean) &&
      c.is_constant(s.variance)) {
    std::vector<double> a = c.numbers(s.scale), b = c.numbers(s.bias);
    const std::vector<double> mean = c.numbers(s.mean), variance = c.numbers(s.variance);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] /= std::sqrt(variance[i] + epsilon);
      b[i] -= mean[i] * a[i];
    }
    for (const auto& [values, suffix] : {std::pair{a, "scale"}, {b, "shift"}})
      e.reads.push_back(
          plain_read(c.add_numbers(c.tensor(x).dtype, s.shape, values, suffix), s.at));
    e.body = add(mul(ir::read(0), ir::read(1)), ir::read(2));
  } else {
    for (int id : {s.scale, s.bias, s.mean, s.variance}) e.reads.push_back(plain_read(id, s.at));
    ir::Scalar deviation = call(ScalarOp::sqrt, add(ir::read(4), number(epsilon)));
    e.body = add(mul(ir::read(1), div(sub(ir::read(0), ir::read(3)), std::move(deviation))),
                 ir::read(2));
  }
  c.bind(0, c.emit(std::move(e)));
}

namespace {

// Until opset 12 the input is seen as a matrix: all dimensions from `axis` on are one.
std::vector<size_t> softmax_axes(const Context& c, size_t rank) {
  if (rank == 0) refuse("a scalar has no axis");
  const size_t axis = normal_axis(c.int_attribute("axis", c.opset >= 13 ? -1 : 1), rank);
  std::vector<size_t> axes = {axis};
  if (c.opset < 13)
    for (size_t d = axis + 1; d < rank; ++d) axes.push_back(d);
  return axes;
}

}  // namespace

void import_softmax(Context& c) {
  const int x = c.input(0);
  c.bind(0, softmax(c, x, softmax_axes(c, c.shape(x).size())));
}

// (x - max) - log(sum(exp(x - max)))
void import_log_softmax(Context& c) {
  const int x = c.input(0);
  const std::vector<size_t> axes = softmax_axes(c, c.shape(x).size());
  const Reduced top = reduce(c, x, axes, {"softmax_max", ir::Combiner::max, ir::read(0)});
  Expression shifted = with_reduced(c, x, top, "softmax_sub");
  shifted.body = sub(ir::read(0), ir::read(1));
  const int difference = c.emit(std::move(shifted));
  const Reduced sum = reduce(c, difference, axes,
                             {"softmax_sum", ir::Combiner::sum, call(ScalarOp::exp, ir::read(0))});
  Expression out = with_reduced(c, difference, sum, "softmax_log");
  out.body = sub(ir::read(0), call(ScalarOp::log, ir::read(1)));
  c.bind(0, c.emit(std::move(out)));
}

namespace {

// A base that is not negative, to a constant exponent: of quarters up to 1 roots, which vectors
// have, at a fraction of a power's time.
ir::Scalar power_of_positive(ir::Scalar base, double exponent) {
  const ir::Scalar root = call(ScalarOp::sqrt, base);
  if (exponent == 0.25) return call(ScalarOp::sqrt, root);
  if (exponent == 0.5) return root;
  if (exponent == 0.75) return mul(root, call(ScalarOp::sqrt, root));
  if (exponent == 1) return base;
  return power(std::move(base), number(exponent));
}

}  // namespace

// x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta
void import_lrn(Context& c) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  const int64_t size = c.int_attribute("size", 0);
  if (shape.size() < 2 || size < 1 || size > shape[1] * 2 + 1)
    refuse(fmt::format("size {} is out of bounds", size));
  Expression squares = over(c, x, "lrn_sum", "lrn_sum");
  squares.reduce = {{"k", size}};
  squares.combine = ir::Combiner::sum;
  std::vector<ir::Index> at = identity_index(shape.size());
  at[1] = ir::variable(1) + ir::variable(static_cast<int>(shape.size())) + -((size - 1) / 2);
  squares.reads = {guarded_read(x, std::move(at), 0)};
  squares.body = mul(ir::read(0), ir::read(0));
  const int sums = c.emit(std::move(squares));
  Expression e = over(c, x, "lrn", "");
  e.reads.push_back(plain_read(sums, identity_index(shape.size())));
  const double scale = c.float_attribute("alpha", static_cast<double>(1e-4F)) /
                       static_cast<double>(size),
               bias = c.float_attribute("bias", 1), beta = c.float_attribute("beta", 0.75);
  ir::Scalar base = add(number(bias), mul(number(scale), ir::read(1)));
  e.body = div(ir::read(0), scale >= 0 && bias >= 0 ? power_of_positive(std::move(base), beta)
                                                    : power(std::move(base), number(beta)));
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace assay::import
