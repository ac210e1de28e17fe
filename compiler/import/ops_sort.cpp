// TopK: a node of kind sort gives the positions, a lookup their values.
#include <fmt/format.h>

#include <cmath>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"

namespace assay::import {
namespace {

// The second input; an attribute before opset 10.
int64_t count_of(const Context& c) {
  if (!c.has_input(1)) return c.int_attribute("k", -1);
  const std::optional<double> k = c.single(c.input(1));
  if (!k) refuse("k must be a constant with one element", "its value is needed to know the shape");
  return *k >= 0 && *k < 1e15 ? static_cast<int64_t>(*k) : -1;
}

}  // namespace

// Of equal elements the one with the lower index comes first. Unsorted results may have any order.
void import_top_k(Context& c) {
  const int x = c.input(0);
  const Shape from = c.shape(x);
  const size_t axis = normal_axis(c.int_attribute("axis", -1), from.size());
  const int64_t k = count_of(c);
  if (k < 1 || k > from[axis]) refuse(fmt::format("k is {}, expected 1 to {}", k, from[axis]));
  Shape to = from;
  to[axis] = k;
  Expression order = pointwise("top_k", to, ir::DType::i64, "order");
  order.reduce = {{"t", from[axis]}};
  std::vector<ir::Index> at = identity_index(from.size());
  at[axis] = ir::variable(static_cast<int>(from.size()));
  order.reads = {plain_read(x, std::move(at))};
  order.body = ir::read(0);
  order.kind = ir::Sort{static_cast<int>(axis), c.int_attribute("largest", 1) != 0};
  const int positions = c.emit(std::move(order));
  Expression values = pointwise("gather", to, c.tensor(x).dtype);
  std::vector<ir::Index> first = identity_index(from.size());
  first[axis] = ir::constant(0);
  values.reads = {plain_read(x, std::move(first)),
                  plain_read(positions, identity_index(to.size()))};
  values.reads[0].lookup = ir::Lookup{static_cast<int>(axis), 1};
  values.body = ir::read(0);
  c.bind(0, c.emit(std::move(values)));
  c.bind(1, positions);
}

}  // namespace assay::import
