// Pools: a reduction over a window, or over all spatial dimensions; averages carry their divisor in
// the body: a number where all windows count the same, else a constant tensor of reciprocals.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "import/onnx/indexing.h"
#include "import/onnx/operators.h"
#include "import/onnx/window.h"

namespace assay::import {
namespace {

Shape spatial_shape(const Context& c, int x) {
  const Shape& s = c.shape(x);
  if (s.size() < 3) refuse(fmt::format("the input [{}] has no spatial dimensions", fmt::join(s, ", ")));
  return {s.begin() + 2, s.end()};
}

Expression pool(const Context& c, int x, const Window& w, std::string op, ir::Combiner combine, double fill) {
  Expression e;
  e.op = std::move(op);
  e.combine = combine;
  e.spatial = {{"n", c.shape(x)[0]}, {"c", c.shape(x)[1]}};
  for (ir::Axis& axis : window_axes(w)) e.spatial.push_back(std::move(axis));
  e.reduce = kernel_axes(w);
  std::vector<ir::Index> at = {ir::variable(0), ir::variable(1)};
  for (ir::Index& i : window_index(w, 2, static_cast<int>(e.spatial.size()))) at.push_back(std::move(i));
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
std::vector<std::vector<double>> counts_of(const Context& c, const Window& w, bool include_padding) {
  std::vector<std::vector<double>> counts(w.in.size());
  c.check_constant_size(ir::DType::f32, w.out);
  for (size_t d = 0; d < w.in.size(); ++d) {
    if (w.kernel[d] > (int64_t{1} << 24) / w.out[d]) refuse("the window is too large");
    for (int64_t o = 0; o < w.out[d]; ++o)
      counts[d].push_back(static_cast<double>(include_padding
                                                  ? counted(w, d, o, -w.before[d], w.in[d] + w.after[d])
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

void import_max_pool(Context& c) {
  const int x = c.input(0);
  const Window w = read_window(c, spatial_shape(c, x), {});
  c.bind(0, c.emit(pool(c, x, w, "max_pool", ir::Combiner::max, -std::numeric_limits<double>::infinity())));
}

void import_average_pool(Context& c) {
  const int x = c.input(0);
  const Window w = read_window(c, spatial_shape(c, x), {});
  const std::vector<double> scale = reciprocals(counts_of(c, w, c.int_attribute("count_include_pad", 0) != 0));
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

void import_global_max_pool(Context& c) {
  c.bind(0, c.emit(global_pool(c, c.input(0), "global_max_pool", ir::Combiner::max)));
}

}  // namespace assay::import
