// Operators that write elements to computed positions: ScatterElements (Scatter before opset 11),
// ScatterND. Each is one node of kind scatter.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/element.h"

namespace assay::import {
namespace {

ir::Combiner reduction_of(const Context& c) {
  const std::string name = c.string_attribute("reduction", "none");
  if (name == "none") return ir::Combiner::none;
  if (name == "add") return ir::Combiner::sum;
  if (name == "mul") return ir::Combiner::product;
  if (name == "max") return ir::Combiner::max;
  if (name == "min") return ir::Combiner::min;
  refuse(fmt::format("reduction {} is not known", name), "none, add, mul, max or min");
}

void check_positions(const Context& c, int indices, size_t column, size_t columns, int64_t extent) {
  if (!ir::is_integer(c.tensor(indices).dtype))
    refuse(fmt::format("the indices hold {}, expected integers",
                       ir::name_of(c.tensor(indices).dtype)));
  if (!c.is_constant(indices)) return;
  const Shape all = c.integers(indices);
  for (size_t i = column; i < all.size(); i += columns)
    if (all[i] < -extent || all[i] >= extent)
      refuse(fmt::format("index {} is outside of {} elements", all[i], extent));
}

// The scatter; 8-bit integers wrap around once all terms are added.
void emit_scatter(Context& c, Expression e) {
  e.op = "scatter";
  e.combine = reduction_of(c);
  const ir::DType dtype = c.tensor(e.reads[0].tensor).dtype;
  e.dtype = dtype;
  const bool wraps = (dtype == ir::DType::i8 || dtype == ir::DType::u8) &&
                     (e.combine == ir::Combiner::sum || e.combine == ir::Combiner::product);
  if (!wraps) return c.bind(0, c.emit(std::move(e)));
  e.suffix = "exact";
  const Shape shape = c.shape(e.reads[0].tensor);
  const int exact = c.emit(std::move(e));
  Expression w = pointwise("wrap", shape, dtype);
  w.reads = {plain_read(exact, identity_index(shape.size()))};
  w.body = wrapped(c, dtype, ir::read(0));
  c.bind(0, c.emit(std::move(w)));
}

}  // namespace

// y = x; then y[.., index[.., j, ..], ..] = update[.., j, ..], in order of j.
void import_scatter_elements(Context& c) {
  const int data = c.input(0), indices = c.input(1), updates = c.input(2);
  const Shape to = c.shape(data), from = c.shape(indices);
  const size_t axis = normal_axis(c.int_attribute("axis", 0), to.size());
  if (from != c.shape(updates))
    refuse(fmt::format("indices of shape [{}] for updates of shape [{}]", fmt::join(from, ", "),
                       fmt::join(c.shape(updates), ", ")));
  if (from.size() != to.size())
    refuse(fmt::format("indices of rank {} for data of rank {}", from.size(), to.size()));
  if (ir::elements(c.tensor(indices)) == 0) return c.bind(0, data);
  bool fewer = false;  // rows of the data without indices keep their values
  for (size_t d = 0; d < to.size(); ++d) {
    if (d != axis && from[d] > to[d])
      refuse(fmt::format("{} indices in dimension {}, the data has {}", from[d], d, to[d]));
    fewer = fewer || (d != axis && from[d] < to[d]);
  }
  check_positions(c, indices, 0, 1, to[axis]);
  Expression e = pointwise("scatter", to, c.tensor(data).dtype);
  e.reduce = {{"j", from[axis]}};
  std::vector<ir::Index> at = identity_index(to.size());
  at[axis] = ir::variable(static_cast<int>(to.size()));
  e.reads = {plain_read(data, identity_index(to.size())), plain_read(indices, at),
             plain_read(updates, at)};
  if (fewer) {
    e.reads[1] = guarded_read(indices, at, std::numeric_limits<double>::infinity());
    e.reads[2] = guarded_read(updates, at, 0);
  }
  e.body = ir::read(2);
  e.kind = ir::Scatter{0, {{static_cast<int>(axis), 1}}};
  emit_scatter(c, std::move(e));
}

// The last dimension of the indices holds positions in as many dimensions of the data; the others
// are those of the updates, before the data's remaining ones.
void import_scatter_nd(Context& c) {
  const int data = c.input(0), indices = c.input(1), updates = c.input(2);
  const Shape to = c.shape(data), picked = c.shape(indices);
  if (picked.empty() || to.empty()) refuse("data and indices must have dimensions");
  if (picked.back() > static_cast<int64_t>(to.size()))
    refuse(fmt::format("{} indices per position, the data has {} dimensions", picked.back(),
                       to.size()));
  const size_t depth = static_cast<size_t>(picked.back()), terms = picked.size() - 1;
  Shape want(picked.begin(), picked.end() - 1);
  want.insert(want.end(), to.begin() + static_cast<std::ptrdiff_t>(depth), to.end());
  if (c.shape(updates) != want)
    refuse(fmt::format("updates of shape [{}], expected [{}]", fmt::join(c.shape(updates), ", "),
                       fmt::join(want, ", ")));
  if (ir::elements(c.tensor(indices)) == 0) return c.bind(0, data);
  Expression e = pointwise("scatter", to, c.tensor(data).dtype);
  for (size_t i = 0; i < terms; ++i) e.reduce.push_back({fmt::format("j{}", i), picked[i]});
  if (terms == 0) e.reduce = {{"j", 1}};
  std::vector<ir::Index> term, update;
  for (size_t i = 0; i < terms; ++i) term.push_back(ir::variable(static_cast<int>(to.size() + i)));
  update = term;
  for (size_t d = depth; d < to.size(); ++d) update.push_back(ir::variable(static_cast<int>(d)));
  ir::Scatter scatter{0, {}};
  e.reads = {plain_read(data, identity_index(to.size()))};
  for (size_t i = 0; i < depth; ++i) {
    check_positions(c, indices, i, depth, to[i]);
    std::vector<ir::Index> index = term;
    index.push_back(ir::constant(static_cast<int64_t>(i)));
    scatter.positions.push_back({static_cast<int>(i), static_cast<int>(e.reads.size())});
    e.reads.push_back(plain_read(indices, std::move(index)));
  }
  e.body = ir::read(static_cast<int>(e.reads.size()));
  e.reads.push_back(plain_read(updates, std::move(update)));
  e.kind = std::move(scatter);
  emit_scatter(c, std::move(e));
}

}  // namespace assay::import
