#include "compiler/import/reduction.h"

#include <algorithm>
#include <numeric>

#include "compiler/import/indexing.h"

namespace assay::import {

Reduced reduce(Context& c, int x, const std::vector<size_t>& axes, Reduction r) {
  const Shape shape = c.shape(x);
  Expression e;
  e.op = r.op;
  if (r.part) e.suffix = std::move(r.op);
  e.combine = axes.empty() ? ir::Combiner::none : r.combine;
  e.body = std::move(r.body);
  e.dtype = r.dtype;
  Reduced result;
  std::vector<ir::Index> index(shape.size());
  const std::vector<ir::Axis> names = axes_for(shape);
  const int spatial = static_cast<int>(r.keep ? shape.size() : shape.size() - axes.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool reduces = std::binary_search(axes.begin(), axes.end(), d);
    std::vector<ir::Axis>& to = reduces ? e.reduce : e.spatial;
    index[d] = ir::variable(static_cast<int>(to.size()) + (reduces ? spatial : 0));
    to.push_back(names[d]);
    if (reduces && r.keep) {
      e.spatial.push_back({names[d].name + "1", 1});
      result.at.push_back(ir::constant(0));
    } else if (!reduces) {
      result.at.push_back(ir::variable(static_cast<int>(d)));
    }
  }
  e.reads = {plain_read(x, std::move(index))};
  result.tensor = c.emit(std::move(e));
  return result;
}

std::vector<size_t> axes_from(size_t first, size_t rank) {
  std::vector<size_t> axes(rank - std::min(first, rank));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

double count_over(const Shape& shape, const std::vector<size_t>& axes) {
  double count = 1;
  for (size_t axis : axes) count *= static_cast<double>(shape[axis]);
  return count;
}

Expression with_reduced(const Context& c, int x, const Reduced& r, std::string op) {
  Expression e = pointwise(op, c.shape(x), c.tensor(x).dtype, op);
  e.reads = {plain_read(x, identity_index(c.shape(x).size())), plain_read(r.tensor, r.at)};
  return e;
}

}  // namespace assay::import
