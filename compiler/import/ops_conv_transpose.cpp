// ConvTranspose. Every input element spreads its filter over the output:
//
//   y[n, o, Y] = sum(c, r) x[n, c, (Y + pad - dilation*r) / stride] * w[c, o, r]
//
// The sum is over the r for which the division has no remainder. Written for what each output
// needs, with Y = stride*y + f - pad and, without dilation, r = stride*t + f, it is one convolution
// per phase:
//
//   z[n, o, y, f] = sum(c, t) x[n, c, y - t] * w[c, o, stride*t + f]
//
// All its taps contribute and its indices are affine. A second node reads Y from (y, f). The
// weights are stored as [c, o, f, t] first, so that each of their dimensions has one axis and
// programs can pack them. Dilated filters get zeros between the taps before.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/fold.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/window.h"
#include "ir/element.h"
#include "ir/limits.h"

namespace assay::import {
namespace {

using ir::Index;

struct Spread {
  Window window;  // before, after: cut from the full output; in: of the input
  Shape reach;    // extents of the dilated filter
  Shape taps;     // per phase
  Shape steps;    // positions y per dimension
  int64_t groups = 1, channels = 1, filters = 1;  // channels and filters of one group
};

Shape values_of(const Context& c, const char* name, size_t rank, int64_t otherwise, int64_t least) {
  Shape values = c.ints_attribute(name, Shape(rank, otherwise));
  if (values.size() != rank)
    refuse(fmt::format("{} has {} values for {} spatial dimensions", name, values.size(), rank));
  for (int64_t v : values)
    if (v < least || v > (int64_t{1} << 20))
      refuse(fmt::format("{} [{}] is out of bounds", name, fmt::join(values, ", ")));
  return values;
}

// Pads, or those that give the wanted output, the odd one after (SAME_UPPER) or before.
void read_cut(const Context& c, Spread& s, const Shape& extra) {
  Window& w = s.window;
  const size_t rank = w.in.size();
  const std::string automatic = c.string_attribute("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID")
    refuse(fmt::format("auto_pad {} is not known", automatic));
  const Shape pads =
      automatic == "NOTSET" ? values_of(c, "pads", 2 * rank, 0, 0) : Shape(2 * rank, 0);
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  const bool given = c.has_attribute("output_shape");
  Shape wanted = given ? values_of(c, "output_shape", rank, 1, 1) : w.in;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t whole = w.stride[d] * (w.in[d] - 1) + extra[d] + s.reach[d];
    if (given || same) {
      if (!given) wanted[d] *= w.stride[d];
      const int64_t total = std::max<int64_t>(0, whole - wanted[d]);
      w.before[d] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.after[d] = total - w.before[d];
    }
    w.out.push_back(given || same ? wanted[d] : whole - w.before[d] - w.after[d]);
  }
  c.check_shape(w.out);
}

Spread read_spread(const Context& c, const Shape& x, const Shape& weights) {
  Spread s;
  if (x.size() < 3 || x.size() > 5 || weights.size() != x.size())
    refuse(fmt::format("input [{}] and weights [{}] must have the same rank, 3 to 5",
                       fmt::join(x, ", "), fmt::join(weights, ", ")));
  const size_t rank = x.size() - 2;
  s.groups = c.int_attribute("group", 1);
  if (weights[0] != x[1] || s.groups < 1 || x[1] % s.groups != 0)
    refuse(fmt::format("{} channels, weights of {} channels and group {} do not fit", x[1],
                       weights[0], s.groups));
  s.channels = x[1] / s.groups;
  s.filters = weights[1];
  Window& w = s.window;
  w.in = {x.begin() + 2, x.end()};
  w.kernel = {weights.begin() + 2, weights.end()};
  if (values_of(c, "kernel_shape", rank, 1, 1) != w.kernel && c.has_attribute("kernel_shape"))
    refuse("kernel_shape differs from the weights'");
  w.stride = values_of(c, "strides", rank, 1, 1);
  w.dilation = values_of(c, "dilations", rank, 1, 1);
  for (size_t d = 0; d < rank; ++d) s.reach.push_back(w.dilation[d] * (w.kernel[d] - 1) + 1);
  read_cut(c, s, values_of(c, "output_padding", rank, 0, 0));
  for (size_t d = 0; d < rank; ++d) {
    s.taps.push_back((s.reach[d] + w.stride[d] - 1) / w.stride[d]);
    s.steps.push_back((w.out[d] + w.before[d] + w.stride[d] - 1) / w.stride[d]);
  }
  return s;
}

// The weights with `dilation - 1` zeros between taps; padded at the end to whole phases.
int whole_phases(Context& c, int weights, const Spread& s) {
  Shape to = c.shape(weights);
  const Window& w = s.window;
  bool same = true;
  for (size_t d = 0; d < w.in.size(); ++d) {
    to[2 + d] = s.taps[d] * w.stride[d];
    same = same && to[2 + d] == w.kernel[d];
  }
  if (same) return weights;
  Expression e = pointwise("spread_weights", to, c.tensor(weights).dtype, "weights");
  std::vector<Index> at = identity_index(to.size());
  e.body = ir::read(0);
  for (size_t d = 0; d < w.in.size(); ++d) {
    const int axis = static_cast<int>(2 + d);
    if (w.dilation[d] == 1) continue;
    at[2 + d] = Index{{ir::Term{1, axis, {}, w.dilation[d], 0}}, 0};
    const ir::Scalar place = axis_value(2 + d),
                     step = ir::number(static_cast<double>(w.dilation[d]));
    e.body = choose(equal(mul(call(ir::ScalarOp::floor, div(place, step)), step), place),
                    std::move(e.body), ir::number(0));
  }
  e.reads = {guarded_read(weights, std::move(at), 0)};
  const int spread = c.emit(std::move(e));
  if (c.is_constant(weights)) fold_nodes(c, c.graph.nodes.size() - 1);
  return spread;
}

// v[c, o, f.., t..] = w[c, o, stride*t + f]
int phases_of(Context& c, int weights, const Spread& s) {
  const Shape from = c.shape(weights);
  const auto rank = static_cast<int>(s.window.in.size());
  Shape to = {from[0], from[1]};
  to.insert(to.end(), s.window.stride.begin(), s.window.stride.end());
  to.insert(to.end(), s.taps.begin(), s.taps.end());
  Expression e = pointwise("phases", to, c.tensor(weights).dtype, "phase_weights");
  std::vector<Index> at = identity_index(2);
  for (int d = 0; d < rank; ++d)
    at.push_back(ir::variable(2 + rank + d, s.window.stride[static_cast<size_t>(d)]) +
                 ir::variable(2 + d));
  e.reads = {plain_read(weights, std::move(at))};
  e.body = ir::read(0);
  const int phases = c.emit(std::move(e));
  if (c.is_constant(weights)) fold_nodes(c, c.graph.nodes.size() - 1);
  return phases;
}

// z[n, o, y.., f..]
int emit_phases(Context& c, int x, int weights, const Spread& s) {
  const Window& w = s.window;
  const size_t rank = w.in.size();
  Expression e;
  e.op = "conv";
  e.suffix = "phases";
  e.combine = ir::Combiner::sum;
  e.spatial = {{"n", c.shape(x)[0]}, {"o", s.groups * s.filters}};
  for (size_t d = 0; d < rank; ++d) e.spatial.push_back({fmt::format("y{}", d), s.steps[d]});
  for (size_t d = 0; d < rank; ++d) e.spatial.push_back({fmt::format("f{}", d), w.stride[d]});
  e.reduce = {{"c", s.channels}};
  for (size_t d = 0; d < rank; ++d) e.reduce.push_back({fmt::format("t{}", d), s.taps[d]});
  const int y = 2, f = y + static_cast<int>(rank), channel = f + static_cast<int>(rank),
            t = channel + 1;
  Index source = ir::variable(channel), filter = ir::variable(1);
  if (s.groups > 1) {
    source = std::move(source) + Index{{ir::Term{s.channels, 1, {}, s.filters, 0}}, 0};
    filter = Index{{ir::Term{1, 1, {}, 1, s.filters}}, 0};
  }
  std::vector<Index> from = {ir::variable(0), source}, weight = {source, filter};
  for (int d = 0; d < static_cast<int>(rank); ++d)
    from.push_back(ir::variable(y + d) + ir::variable(t + d, -1));
  for (int d = 0; d < static_cast<int>(2 * rank); ++d)
    weight.push_back(
        ir::variable(d < static_cast<int>(rank) ? f + d : t + d - static_cast<int>(rank)));
  e.reads = {guarded_read(x, std::move(from), 0), plain_read(weights, std::move(weight))};
  e.body = mul(ir::read(0), ir::read(1));
  return c.emit(std::move(e));
}

}  // namespace

void import_conv_transpose(Context& c) {
  const int x = c.input(0);
  const Spread s = read_spread(c, c.shape(x), c.shape(c.input(1)));
  const Window& w = s.window;
  const int weights = phases_of(c, whole_phases(c, c.input(1), s), s);
  const int phases = emit_phases(c, x, weights, s);
  Expression e;
  e.op = "interleave";
  e.spatial = {{"n", c.shape(x)[0]}, {"o", s.groups * s.filters}};
  for (ir::Axis& axis : window_axes(w)) e.spatial.push_back(std::move(axis));
  std::vector<Index> at = {ir::variable(0), ir::variable(1)};
  const std::vector<ir::Range> ranges = ranges_of(e.spatial);
  for (const bool phase : {false, true})
    for (size_t d = 0; d < w.in.size(); ++d) {
      const Index place = ir::variable(static_cast<int>(2 + d)) + w.before[d];
      at.push_back(phase ? ir::modulo(place, w.stride[d], ranges)
                         : ir::divide(place, w.stride[d], ranges));
    }
  e.reads = {plain_read(phases, std::move(at))};
  e.body = ir::read(0);
  if (c.has_input(2)) {
    if (c.shape(c.input(2)) != Shape{s.groups * s.filters})
      refuse(fmt::format("the bias has shape [{}], expected [{}]",
                         fmt::join(c.shape(c.input(2)), ", "), s.groups * s.filters));
    e.reads.push_back(plain_read(c.input(2), {ir::variable(1)}));
    e.body = add(ir::read(0), ir::read(1));
  }
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace assay::import
