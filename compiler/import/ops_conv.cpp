// Conv.
//
//   y[n,o,y,x] = sum(c,r,s) x[n, g(o)*cg + c, stride*y + dilation*r - pad, ...] * w[o,c,r,s]
//
// A bias is a second node, since a body is evaluated once per reduce point.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/quantised.h"
#include "compiler/import/window.h"

namespace assay::import {
namespace {

struct Groups {
  int64_t count = 1, channels = 1, filters = 1;  // channels and filters of one group
};

Groups read_groups(const Context& c, const Shape& x, const Shape& w) {
  const int64_t count = c.int_attribute("group", 1);
  if (count < 1 || count > x[1] || x[1] % count != 0 || w[0] % count != 0)
    refuse(fmt::format("group {} does not divide {} channels and {} filters", count, x[1], w[0]));
  if (w[1] != x[1] / count)
    refuse(fmt::format("the weights have {} channels per group, the input {}", w[1], x[1] / count));
  return {count, w[1], w[0] / count};
}

// o / filters * channels + c; plain where that is enough.
ir::Index channel_index(const Groups& g, int filter_axis, int channel_axis) {
  if (g.count == 1) return ir::variable(channel_axis);
  ir::Index group = ir::variable(filter_axis);
  if (g.filters > 1) group = ir::Index{{ir::Term{1, filter_axis, {}, g.filters, 0}}, 0};
  group = std::move(group) * g.channels;
  return g.channels == 1 ? group : std::move(group) + ir::variable(channel_axis);
}

int add_bias(Context& c, int y, int bias) {
  const Shape& shape = c.shape(y);
  if (c.shape(bias) != Shape{shape[1]})
    refuse(fmt::format("the bias has shape [{}], expected [{}]", fmt::join(c.shape(bias), ", "),
                       shape[1]));
  Expression e;
  e.op = "bias";
  e.spatial = axes_for(shape);
  e.reads = {plain_read(y, identity_index(shape.size())), plain_read(bias, {ir::variable(1)})};
  e.body = add(ir::read(0), ir::read(1));
  e.suffix = "bias";
  return c.emit(std::move(e));
}

}  // namespace

int convolution(Context& c, int x, int w, int bias, std::optional<ir::DType> dtype,
                double outside) {
  if (const auto y = dtype ? std::nullopt : dequantised_convolution(c, x, w, bias))
    return bias < 0 ? *y : add_bias(c, *y, bias);
  const Shape xs = c.shape(x), ws = c.shape(w);
  if (xs.size() < 3 || ws.size() != xs.size())
    refuse(fmt::format("input [{}] and weights [{}] must have the same rank, 3 or more",
                       fmt::join(xs, ", "), fmt::join(ws, ", ")));
  const Groups groups = read_groups(c, xs, ws);
  const Window window = read_window(c, {xs.begin() + 2, xs.end()}, {ws.begin() + 2, ws.end()});

  Expression e;
  const bool depthwise = groups.count == xs[1] && groups.count > 1;
  e.op = depthwise ? "depthwise" : "conv";
  e.spatial = {{"n", xs[0]}, {"o", ws[0]}};
  for (ir::Axis& axis : window_axes(window)) e.spatial.push_back(std::move(axis));
  if (!depthwise) e.reduce = {{"c", groups.channels}};
  for (ir::Axis& axis : kernel_axes(window)) e.reduce.push_back(std::move(axis));
  const int first_reduce = static_cast<int>(e.spatial.size());
  const int first_kernel = first_reduce + (depthwise ? 0 : 1);

  std::vector<ir::Index> at = {ir::variable(0), channel_index(groups, 1, first_reduce)};
  for (ir::Index& i : window_index(window, 2, first_kernel)) at.push_back(std::move(i));
  std::vector<ir::Index> weight = {ir::variable(1),
                                   depthwise ? ir::constant(0) : ir::variable(first_reduce)};
  for (size_t d = 0; d < window.kernel.size(); ++d)
    weight.push_back(ir::variable(first_kernel + static_cast<int>(d)));
  e.dtype = dtype;
  e.reads = {window.padded() ? guarded_read(x, at, outside) : plain_read(x, at),
             plain_read(w, weight)};
  e.body = mul(ir::read(0), ir::read(1));
  e.combine = ir::Combiner::sum;
  const int y = c.emit(std::move(e));
  if (dtype) c.whole.insert(y);
  return bias < 0 ? y : add_bias(c, y, bias);
}

void import_conv(Context& c) {
  c.bind(0, convolution(c, c.input(0), c.input(1), optional_input(c, 2)));
}

}  // namespace assay::import
