// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd. The axes are an attribute or, in later
// opsets, an input; none given means all, unless noop_with_empty_axes says otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "import/onnx/indexing.h"
#include "import/onnx/operators.h"

namespace assay::import {
namespace {

std::vector<size_t> reduced_axes(const Context& c, size_t rank) {
  Shape axes = c.has_input(1) ? c.integers(c.input(1)) : c.ints_attribute("axes");
  if (axes.empty() && c.int_attribute("noop_with_empty_axes", 0) == 0) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  return normal_axes(axes, rank);
}

void reduce(Context& c, std::string op, ir::Combiner combine, bool mean) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  const std::vector<size_t> axes = reduced_axes(c, shape.size());
  if (axes.empty()) return c.bind(0, x);
  const bool keep = c.int_attribute("keepdims", 1) != 0;
  Expression e;
  e.op = std::move(op);
  e.combine = combine;
  const size_t spatial = keep ? shape.size() : shape.size() - axes.size();
  double count = 1;
  Shape out;
  std::vector<ir::Index> at(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), d)) {
      at[d] = ir::variable(static_cast<int>(out.size()));
      out.push_back(shape[d]);
      continue;
    }
    if (keep) out.push_back(1);
    at[d] = ir::variable(static_cast<int>(spatial + e.reduce.size()));
    e.reduce.push_back({fmt::format("r{}", d), shape[d]});
    count *= static_cast<double>(shape[d]);
  }
  e.spatial = axes_for(out);
  e.reads = {plain_read(x, std::move(at))};
  e.body = mean ? mul(ir::read(0), ir::number(1 / count)) : ir::read(0);
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace

void import_reduce_sum(Context& c) { reduce(c, "reduce_sum", ir::Combiner::sum, false); }
void import_reduce_mean(Context& c) { reduce(c, "reduce_mean", ir::Combiner::sum, true); }
void import_reduce_max(Context& c) { reduce(c, "reduce_max", ir::Combiner::max, false); }
void import_reduce_min(Context& c) { reduce(c, "reduce_min", ir::Combiner::min, false); }
void import_reduce_prod(Context& c) { reduce(c, "reduce_prod", ir::Combiner::product, false); }

}  // namespace assay::import
