// Pools: a reduction over a window, or over all spatial dimensions; averages carry their divisor in
// the body: a number where all windows count the same, else a constant tensor of reciprocals.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/window.h"

namespace assay::import {
namespace {

Shape spatial_shape(const Context& c, int x) {
  const Shape& s = c.shape(x);
  if (s.size() < 3)
    refuse(fmt::format("the input [{}] has no spatial dimensions", fmt::join(s, ", ")));
  return {s.begin() + 2, s.end()};
}

Expression pool(const Context& c, int x, const Window& w, std::string op, ir::Combiner combine,
                double fill) {
  Expression e;
  e.op = std::move(op);
  e.combine = combine;
  e.spatial = {{"n", c.shape(x)[0]}, {"c", c.shape(x)[1]}};
  for (ir::Axis& axis : window_axes(w)) e.spatial.push_back(std::move(axis));
  e.reduce = kernel_axes(w);
  std::vector<ir::Index> at = {ir::variable(0), ir::variable(1)};
  for (ir::Index& i : window_index(w, 2, static_cast<int>(e.spatial.size())))
    at.push_back(std::move(i));
  e.reads = {w.padded() ? guarded_read(x, at, fill) : plain_read(x, at)};
  e.body = ir::read(0);
  return e;
}

// How many elements of the window at `out` lie in [low, high).
int64_t counted(const Window& w, size_t d, int64_t out, int64_t low, int64_t high) {
  int64_t count = 0;
  for (int64_t k = 0; k < w.kernel[d]; ++k) {
    const int64_t at = out * w.stride[d] + k * w.dilation[d] - w.before[d];
    if (at >= low && at < high) ++count;
  }
  return count;
}

// Per spatial dimension and output position, the elements that count.
std::vector<std::vector<double>> counts_of(const Context& c, const Window& w,
                                           bool include_padding) {
  std::vector<std::vector<double>> counts(w.in.size());
  c.check_constant_size(ir::DType::f32, w.out);
  for (size_t d = 0; d < w.in.size(); ++d) {
    if (w.kernel[d] > (int64_t{1} << 24) / w.out[d]) refuse("the window is too large");
    for (int64_t o = 0; o < w.out[d]; ++o)
      counts[d].push_back(
          static_cast<double>(include_padding ? counted(w, d, o, -w.before[d], w.in[d] + w.after[d])
                                              : counted(w, d, o, 0, w.in[d])));
  }
  return counts;
}

// 1 / count of every window, over the spatial dimensions.
std::vector<double> reciprocals(const std::vector<std::vector<double>>& counts) {
  std::vector<double> all = {1};
  for (const std::vector<double>& dimension : counts) {
    std::vector<double> next;
    for (double outer : all)
      for (double count : dimension) next.push_back(outer * count);
    all = std::move(next);
  }
  for (double& v : all) v = 1 / std::max(v, 1.0);
  return all;
}

}  // namespace

namespace {

// The flat position in the whole input of the element that the pool chose: the first of its window
// that equals the maximum. storage_order = 1: the last two dimensions count column by column.
int pooled_place(Context& c, int x, const Window& w, int pooled) {
  const Shape& shape = c.shape(x);
  if (static_cast<double>(ir::elements(c.tensor(x))) > 0x1p24)
    refuse("positions among more than 2^24 elements are not exact in f32");
  Expression e =
      pool(c, x, w, "max_pool_place", ir::Combiner::min, -std::numeric_limits<double>::infinity());
  e.suffix = "place";
  e.dtype = ir::DType::i64;
  e.reads.push_back(plain_read(pooled, identity_index(e.spatial.size())));
  std::vector<size_t> order(w.in.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (c.int_attribute("storage_order", 0) != 0 && order.size() > 1)
    std::swap(order.back(), order[order.size() - 2]);
  ir::Scalar flat =
      add(mul(axis_value(0), ir::number(static_cast<double>(shape[1]))), axis_value(1));
  for (size_t d : order) {
    ir::Scalar at =
        add(mul(axis_value(2 + d), ir::number(static_cast<double>(w.stride[d]))),
            mul(axis_value(e.spatial.size() + d), ir::number(static_cast<double>(w.dilation[d]))));
    at = sub(std::move(at), ir::number(static_cast<double>(w.before[d])));
    flat = add(mul(std::move(flat), ir::number(static_cast<double>(w.in[d]))), std::move(at));
  }
  e.body = place_of_extreme(std::move(flat), std::numeric_limits<double>::infinity());
  return c.emit(std::move(e));
}

}  // namespace

void import_max_pool(Context& c) {
  const int x = c.input(0);
  const Window w = read_window(c, spatial_shape(c, x), {});
  const int pooled = c.emit(
      pool(c, x, w, "max_pool", ir::Combiner::max, -std::numeric_limits<double>::infinity()));
  c.bind(0, pooled);
  if (c.node().output_size() > 1 && !c.node().output(1).empty())
    c.bind(1, pooled_place(c, x, w, pooled));
}

void import_average_pool(Context& c) {
  const int x = c.input(0);
  const Window w = read_window(c, spatial_shape(c, x), {});
  const std::vector<double> scale =
      reciprocals(counts_of(c, w, c.int_attribute("count_include_pad", 0) != 0));
  Expression e = pool(c, x, w, "avg_pool", ir::Combiner::sum, 0);
  if (std::all_of(scale.begin(), scale.end(), [&](double v) { return v == scale[0]; })) {
    e.body = mul(ir::read(0), ir::number(scale[0]));
  } else {
    std::vector<ir::Index> at;
    for (size_t d = 0; d < w.out.size(); ++d) at.push_back(ir::variable(2 + static_cast<int>(d)));
    e.reads.push_back(plain_read(c.add_numbers(c.tensor(x).dtype, w.out, scale, "scale"), at));
    e.body = mul(ir::read(0), ir::read(1));
  }
  c.bind(0, c.emit(std::move(e)));
}

namespace {

Expression global_pool(const Context& c, int x, std::string op, ir::Combiner combine) {
  const Shape spatial = spatial_shape(c, x);
  Expression e;
  e.op = std::move(op);
  e.combine = combine;
  Shape out = c.shape(x);
  std::fill(out.begin() + 2, out.end(), 1);
  e.spatial = axes_for(out);
  std::vector<ir::Index> at = {ir::variable(0), ir::variable(1)};
  for (size_t d = 0; d < spatial.size(); ++d) {
    at.push_back(ir::variable(static_cast<int>(out.size() + d)));
    e.reduce.push_back({fmt::format("r{}", d), spatial[d]});
  }
  e.reads = {plain_read(x, std::move(at))};
  e.body = ir::read(0);
  return e;
}

}  // namespace

void import_global_average_pool(Context& c) {
  const int x = c.input(0);
  Expression e = global_pool(c, x, "global_avg_pool", ir::Combiner::sum);
  double count = 1;
  for (const ir::Axis& axis : e.reduce) count *= static_cast<double>(axis.extent);
  e.body = mul(ir::read(0), ir::number(1 / count));
  c.bind(0, c.emit(std::move(e)));
}

namespace {

// (sum |x|^p) ^ (1/p): the powers are the reduction's, the root is a node after it.
void emit_lp(Context& c, Expression e, int64_t p) {
  if (p < 1 || p > 64) refuse(fmt::format("p = {} is out of bounds", p));
  const ir::Scalar magnitude = call(ir::ScalarOp::abs, ir::read(0));
  e.body = p == 1   ? magnitude
           : p == 2 ? mul(ir::read(0), ir::read(0))
                    : power(magnitude, ir::number(static_cast<double>(p)));
  e.suffix = "powers";
  const int powers = c.emit(std::move(e));
  if (p == 1) return c.bind(0, powers);
  Expression root = pointwise("lp_root", c.shape(powers), c.tensor(powers).dtype);
  root.reads = {plain_read(powers, identity_index(c.shape(powers).size()))};
  root.body = p == 2 ? call(ir::ScalarOp::sqrt, ir::read(0))
                     : power(ir::read(0), ir::number(1.0 / static_cast<double>(p)));
  c.bind(0, c.emit(std::move(root)));
}

}  // namespace

void import_lp_pool(Context& c) {
  const int x = c.input(0);
  const Window w = read_window(c, spatial_shape(c, x), {});
  emit_lp(c, pool(c, x, w, "lp_pool", ir::Combiner::sum, 0), c.int_attribute("p", 2));
}

void import_global_lp_pool(Context& c) {
  emit_lp(c, global_pool(c, c.input(0), "global_lp_pool", ir::Combiner::sum),
          c.int_attribute("p", 2));
}

void import_global_max_pool(Context& c) {
  c.bind(0, c.emit(global_pool(c, c.input(0), "global_max_pool", ir::Combiner::max)));
}

}  // namespace assay::import
