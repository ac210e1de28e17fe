// Normalisations by the statistics of the input itself: LayerNormalization, InstanceNormalization,
// GroupNormalization, MeanVarianceNormalization, RMSNormalization, LpNormalization.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/reduction.h"

namespace assay::import {
namespace {

using ir::Combiner;
using ir::number;
using ir::Scalar;
using ir::ScalarOp;

struct Centred {
  Reduced mean, variance;
  int difference = -1;  // x - mean
};

// Mean and variance over `axes`, the dimensions kept with extent 1.
Centred centre(Context& c, int x, const std::vector<size_t>& axes) {
  const double share = 1 / count_over(c.shape(x), axes);
  Centred r;
  r.mean = reduce(c, x, axes, {"mean", Combiner::sum, mul(ir::read(0), number(share)), {}, true});
  Expression centred = with_reduced(c, x, r.mean, "centre");
  centred.body = sub(ir::read(0), ir::read(1));
  r.difference = c.emit(std::move(centred));
  r.variance = reduce(
      c, r.difference, axes,
      {"variance", Combiner::sum, mul(mul(ir::read(0), ir::read(0)), number(share)), {}, true});
  return r;
}

double epsilon_of(const Context& c) {
  return c.float_attribute("epsilon", static_cast<double>(1e-5F));
}

Scalar deviation(Scalar variance, double epsilon) {
  return call(ScalarOp::sqrt, add(std::move(variance), number(epsilon)));
}

// e.body * scale + bias, each broadcast to the shape; both optional.
void scale_and_shift(Context& c, Expression& e, const Shape& shape, const Normalisation& n) {
  for (const bool scales : {true, false}) {
    const int operand = scales ? n.scale : n.bias;
    if (operand < 0) continue;
    if (broadcast(shape, c.shape(operand)) != shape)
      refuse("scale or bias can not be broadcast to the input");
    Scalar value = broadcast_operand(c, operand, shape, e.reads);
    e.body = scales ? mul(std::move(e.body), std::move(value))
                    : add(std::move(e.body), std::move(value));
  }
}

// 1 / sqrt(variance + epsilon), where it is an output.
void bind_inverse(Context& c, int variance, const Normalisation& n) {
  if (n.inverse_output < 0 || !wants_output(c, n.inverse_output)) return;
  const Shape kept = c.shape(variance);
  Expression inverse = pointwise("reciprocal", kept, c.tensor(variance).dtype, "inverse");
  inverse.reads = {plain_read(variance, identity_index(kept.size()))};
  inverse.body = div(number(1), deviation(ir::read(0), n.epsilon));
  c.bind(n.inverse_output, c.emit(std::move(inverse)));
}

// The same with one parameter per channel, or per `channels / count` of them.
void scale_and_shift_channels(Context& c, Expression& e, int64_t channels, int64_t count) {
  for (int i = 1; i <= 2; ++i) {
    const int parameter = c.input(i);
    if (c.shape(parameter) != Shape{count})
      refuse(fmt::format("input {} has shape [{}], expected [{}]", c.tensor(parameter).name,
                         fmt::join(c.shape(parameter), ", "), count));
    const ir::Index channel = count == channels
                                  ? ir::variable(1)
                                  : ir::Index{{ir::Term{1, 1, {}, channels / count, 0}}, 0};
    e.reads.push_back(plain_read(parameter, {channel}));
    Scalar value = ir::read(static_cast<int>(e.reads.size()) - 1);
    e.body = i == 1 ? mul(std::move(e.body), std::move(value))
                    : add(std::move(e.body), std::move(value));
  }
}

}  // namespace

// (x - mean) / sqrt(variance + epsilon) * scale + bias
int layer_normal(Context& c, int x, const std::vector<size_t>& axes, const Normalisation& n) {
  const Shape shape = c.shape(x);
  const Centred centred = centre(c, x, axes);
  Expression e = with_reduced(c, centred.difference, centred.variance, "layer_norm");
  e.body = div(ir::read(0), deviation(ir::read(1), n.epsilon));
  scale_and_shift(c, e, shape, n);
  const int y = c.emit(std::move(e));
  if (n.mean_output >= 0) c.bind(n.mean_output, centred.mean.tensor);
  bind_inverse(c, centred.variance.tensor, n);
  return y;
}

// x / sqrt(mean of squares + epsilon) * scale + bias
int rms_normal(Context& c, int x, const std::vector<size_t>& axes, const Normalisation& n) {
  const Shape shape = c.shape(x);
  const double share = 1 / count_over(shape, axes);
  const Reduced mean = reduce(
      c, x, axes,
      {"mean_square", Combiner::sum, mul(mul(ir::read(0), ir::read(0)), number(share)), {}, true});
  Expression e = with_reduced(c, x, mean, "rms_norm");
  e.body = div(ir::read(0), deviation(ir::read(1), n.epsilon));
  scale_and_shift(c, e, shape, n);
  const int y = c.emit(std::move(e));
  bind_inverse(c, mean.tensor, n);
  return y;
}

namespace {

std::vector<size_t> normalised_axes(const Context& c) {
  const size_t rank = c.shape(c.input(0)).size();
  return axes_from(normal_axis(c.int_attribute("axis", -1), rank), rank);
}

}  // namespace

// Over the dimensions from `axis` on.
void import_layer_normalization(Context& c) {
  Normalisation n{optional_input(c, 1), optional_input(c, 2), epsilon_of(c), 1, 2};
  c.bind(0, layer_normal(c, c.input(0), normalised_axes(c), n));
}

// The statistics are those of one channel of one image.
void import_instance_normalization(Context& c) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  if (shape.size() < 3)
    refuse(fmt::format("the input [{}] has no spatial dimensions", fmt::join(shape, ", ")));
  const Centred centred = centre(c, x, axes_from(2, shape.size()));
  Expression e = with_reduced(c, centred.difference, centred.variance, "instance_norm");
  e.body = div(ir::read(0), deviation(ir::read(1), epsilon_of(c)));
  scale_and_shift_channels(c, e, shape[1], shape[1]);
  c.bind(0, c.emit(std::move(e)));
}

// The statistics are those of a group of channels, seen as one row: scale and bias are per group
// until opset 20, then per channel.
void import_group_normalization(Context& c) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  if (shape.size() < 2) refuse("the input has no channels");
  const int64_t groups = c.int_attribute("num_groups", 0);
  if (groups < 1 || shape[1] % groups != 0)
    refuse(fmt::format("{} groups do not divide {} channels", groups, shape[1]));
  const int rows = reshaped(
      c, x,
      {shape[0], groups,
       static_cast<int64_t>(count_over(shape, axes_from(2, shape.size()))) * (shape[1] / groups)});
  const Centred centred = centre(c, rows, {2});
  Expression normal = with_reduced(c, centred.difference, centred.variance, "group_norm");
  normal.body = div(ir::read(0), deviation(ir::read(1), epsilon_of(c)));
  const int image = reshaped(c, c.emit(std::move(normal)), shape);
  Expression e = pointwise("group_norm_scale", shape, c.tensor(x).dtype);
  e.reads = {plain_read(image, identity_index(shape.size()))};
  e.body = ir::read(0);
  scale_and_shift_channels(c, e, shape[1], c.opset >= 21 ? shape[1] : groups);
  c.bind(0, c.emit(std::move(e)));
}

// (x - mean) / (sqrt(variance) + 1e-9), over batch and space unless axes are given.
void import_mean_variance_normalization(Context& c) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  const Centred centred =
      centre(c, x, normal_axes(c.ints_attribute("axes", {0, 2, 3}), shape.size()));
  Expression e = with_reduced(c, centred.difference, centred.variance, "mvn");
  e.body = div(ir::read(0), add(call(ScalarOp::sqrt, ir::read(1)), number(1e-9)));
  c.bind(0, c.emit(std::move(e)));
}

// Over the dimensions from `axis` on. ONNX Runtime's SimplifiedLayerNormalization is the same.
void import_rms_normalization(Context& c) {
  const Normalisation n{optional_input(c, 1), -1, epsilon_of(c), -1, 1};
  c.bind(0, rms_normal(c, c.input(0), normalised_axes(c), n));
}

// x / norm along one axis, the norm being the sum of magnitudes (p = 1) or the root of squares (p =
// 2). Where all elements are 0 they stay 0.
void import_lp_normalization(Context& c) {
  const int x = c.input(0);
  const int64_t p = c.int_attribute("p", 2);
  if (p != 1 && p != 2) refuse(fmt::format("p = {} is not supported, only 1 and 2", p));
  const size_t axis = normal_axis(c.int_attribute("axis", -1), c.shape(x).size());
  const Reduced sum =
      reduce(c, x, {axis},
             {"lp_sum", Combiner::sum,
              p == 1 ? call(ScalarOp::abs, ir::read(0)) : mul(ir::read(0), ir::read(0))});
  Expression e = with_reduced(c, x, sum, "lp_norm");
  Scalar quotient = div(ir::read(0), p == 1 ? ir::read(1) : call(ScalarOp::sqrt, ir::read(1)));
  e.body = choose(equal(ir::read(1), number(0)), number(0), std::move(quotient));
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace assay::import
