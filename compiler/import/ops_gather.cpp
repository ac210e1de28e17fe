// Gather, GatherElements, GatherND, OneHot.
//
// Constant indices are resolved here where a plain read results: bytes of constant data, a strided
// read of computed data. Other indices, constant or known at run time, are looked up:
//
//   y[i, j] = x[index[i], j]
//
// An index outside gives 0. A read looks up one position. Positions in several dimensions
// (GatherND) and nodes that are folded are a reduction over the gathered dimensions:
//
//   y[i] = sum(k, l) index[i, 0] == k && index[i, 1] == l ? x[k, l] : 0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::number;
using ir::Scalar;

void require_integers(const Context& c, int indices) {
  if (!ir::is_integer(c.tensor(indices).dtype))
    refuse(fmt::format("{} must hold integers, it holds {}", c.tensor(indices).name,
                       ir::name_of(c.tensor(indices).dtype)));
}

// The wanted positions in [0, extent).
Shape gather_positions(const Context& c, int indices, int64_t extent) {
  Shape positions = c.integers(indices);
  for (int64_t& v : positions) {
    if (v < -extent || v >= extent)
      refuse(fmt::format("index {} is outside {} elements", v, extent));
    if (v < 0) v += extent;
  }
  return positions;
}

// The step between neighbours when the positions are an arithmetic sequence.
std::optional<int64_t> step_of(const Shape& positions) {
  const int64_t step = positions.size() > 1 ? positions[1] - positions[0] : 0;
  for (size_t i = 1; i < positions.size(); ++i)
    if (positions[i] - positions[i - 1] != step) return std::nullopt;
  return step;
}

void gather_bytes(Context& c, int data, size_t axis, const Shape& positions, const Shape& to) {
  const Shape from = c.shape(data);
  const ir::DType dtype = c.tensor(data).dtype;
  c.check_constant_size(dtype, to);
  size_t outer = 1, inner = static_cast<size_t>(ir::bytes_of(dtype));
  for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(from[d]);
  for (size_t d = axis + 1; d < from.size(); ++d) inner *= static_cast<size_t>(from[d]);
  std::vector<std::byte> bytes(outer * positions.size() * inner);
  const std::vector<std::byte>& source = c.bytes(data);
  std::byte* at = bytes.data();
  for (size_t o = 0; o < outer; ++o)
    for (int64_t position : positions) {
      const size_t row = o * static_cast<size_t>(from[axis]) + static_cast<size_t>(position);
      std::memcpy(at, source.data() + row * inner, inner);
      at += inner;
    }
  c.bind(0, c.add_constant(dtype, to, std::move(bytes)));
}

// 1 where the index that operand `read` holds, counted from the end when negative, is `position`.
Scalar points_at(int read, int64_t extent, Scalar position) {
  const Scalar index = ir::read(read);
  return equal(
      choose(less(index, number(0)), add(index, number(static_cast<double>(extent))), index),
      std::move(position));
}

// The expression of a gather at run time: reads[0] is the data, the rest are the indices that
// select along `axes` (dimension of the data, axis of the expression).
struct Selected {
  size_t dimension = 0;
  size_t axis = 0;
};

void emit_selection(Context& c, Expression e, const Shape& data,
                    const std::vector<Selected>& selected) {
  e.op = "gather";
  e.combine = ir::Combiner::sum;
  e.dtype = c.tensor(e.reads[0].tensor).dtype;
  Scalar matches = number(1);
  for (size_t i = 0; i < selected.size(); ++i) {
    e.reduce.push_back({fmt::format("g{}", i), data[selected[i].dimension]});
    Scalar match = points_at(static_cast<int>(i) + 1, data[selected[i].dimension],
                             axis_value(selected[i].axis));
    matches = i == 0 ? std::move(match) : mul(std::move(matches), std::move(match));
  }
  e.body = choose(std::move(matches), ir::read(0), number(0));
  c.bind(0, c.emit(std::move(e)));
}

// reads[0] at the position along `dimension` that reads[1] holds.
void emit_lookup(Context& c, Expression e, size_t dimension) {
  e.op = "gather";
  e.dtype = c.tensor(e.reads[0].tensor).dtype;
  e.reads[0].index[dimension] = ir::constant(0);
  e.reads[0].lookup = ir::Lookup{static_cast<int>(dimension), 1};
  e.body = ir::read(0);
  c.bind(0, c.emit(std::move(e)));
}

void gather_by_step(Context& c, int data, size_t axis, size_t picked, const Shape& positions,
                    int64_t step, const Shape& to) {
  ir::Index position = ir::constant(positions[0]);
  for (size_t d = axis + picked; d-- > axis; step *= to[d])
    if (to[d] > 1) position = std::move(position) + ir::variable(static_cast<int>(d), step);
  std::vector<ir::Index> at;
  for (size_t d = 0; d < c.shape(data).size(); ++d)
    at.push_back(d == axis ? position
                           : ir::variable(static_cast<int>(d < axis ? d : d + picked - 1)));
  Expression e = pointwise("gather", to, c.tensor(data).dtype);
  e.reads = {plain_read(data, std::move(at))};
  e.body = ir::read(0);
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace

void import_gather(Context& c) {
  const int data = c.input(0), indices = c.input(1);
  require_integers(c, indices);
  const Shape from = c.shape(data), picked = c.shape(indices);
  const size_t axis = normal_axis(c.int_attribute("axis", 0), from.size());
  Shape to(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(axis));
  to.insert(to.end(), picked.begin(), picked.end());
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(axis) + 1, from.end());
  if (is_empty(to)) return c.bind(0, c.add_empty(c.tensor(data).dtype, to));
  c.check_shape(to);
  if (c.is_constant(indices)) {
    const Shape positions = gather_positions(c, indices, from[axis]);
    if (c.is_constant(data)) return gather_bytes(c, data, axis, positions, to);
    if (const std::optional<int64_t> step = step_of(positions))
      return gather_by_step(c, data, axis, picked.size(), positions, *step, to);
  }
  Expression e = pointwise("gather", to, c.tensor(data).dtype);
  std::vector<ir::Index> at, index;
  for (size_t d = 0; d < from.size(); ++d)
    at.push_back(ir::variable(static_cast<int>(d == axis  ? to.size()
                                               : d < axis ? d
                                                          : d + picked.size() - 1)));
  for (size_t d = 0; d < picked.size(); ++d)
    index.push_back(ir::variable(static_cast<int>(axis + d)));
  e.reads = {plain_read(data, std::move(at)), plain_read(indices, std::move(index))};
  if (!c.folds()) return emit_lookup(c, std::move(e), axis);
  emit_selection(c, std::move(e), from, {{axis, to.size()}});
}

// y[.., i, ..] = x[.., index[.., i, ..], ..], all three of the same rank.
void import_gather_elements(Context& c) {
  const int data = c.input(0), indices = c.input(1);
  require_integers(c, indices);
  const Shape from = c.shape(data), to = c.shape(indices);
  const size_t axis = normal_axis(c.int_attribute("axis", 0), from.size());
  if (to.size() != from.size())
    refuse(fmt::format("indices of rank {} for data of rank {}", to.size(), from.size()));
  for (size_t d = 0; d < to.size(); ++d)
    if (d != axis && to[d] > from[d])
      refuse(fmt::format("{} indices in dimension {}, the data has {}", to[d], d, from[d]));
  if (c.is_constant(indices)) gather_positions(c, indices, from[axis]);
  Expression e = pointwise("gather", to, c.tensor(data).dtype);
  std::vector<ir::Index> at = identity_index(from.size());
  at[axis] = ir::variable(static_cast<int>(to.size()));
  e.reads = {plain_read(data, std::move(at)), plain_read(indices, identity_index(to.size()))};
  if (!c.folds()) return emit_lookup(c, std::move(e), axis);
  emit_selection(c, std::move(e), from, {{axis, to.size()}});
}

// The last dimension of the indices holds positions in as many dimensions of the data, behind the
// batch dimensions that both have in common.
void import_gather_nd(Context& c) {
  const int data = c.input(0), indices = c.input(1);
  require_integers(c, indices);
  const Shape from = c.shape(data), picked = c.shape(indices);
  const int64_t batches = c.int_attribute("batch_dims", 0);
  if (picked.empty() || from.empty()) refuse("data and indices must have dimensions");
  if (batches < 0 || batches >= static_cast<int64_t>(std::min(from.size(), picked.size())))
    refuse(fmt::format("{} batch dimensions, data and indices have {} and {}", batches, from.size(),
                       picked.size()));
  const size_t batch = static_cast<size_t>(batches), depth = static_cast<size_t>(picked.back());
  if (picked.back() > static_cast<int64_t>(from.size() - batch))
    refuse(fmt::format("{} indices per position, the data has {} dimensions after the batch",
                       picked.back(), from.size() - batch));
  if (!std::equal(from.begin(), from.begin() + batches, picked.begin()))
    refuse("the batch dimensions differ");
  Shape to(picked.begin(), picked.end() - 1);
  const size_t behind = to.size();
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(batch + depth), from.end());
  c.check_shape(to);
  Expression e = pointwise("gather", to, c.tensor(data).dtype);
  std::vector<ir::Index> at(from.size());
  std::vector<Selected> selected;
  for (size_t d = 0; d < from.size(); ++d) {
    const bool chosen = d >= batch && d < batch + depth;
    const size_t axis = d < batch ? d : chosen ? to.size() + d - batch : behind + d - batch - depth;
    at[d] = ir::variable(static_cast<int>(axis));
    if (chosen) selected.push_back({d, axis});
  }
  e.reads = {plain_read(data, std::move(at))};
  for (size_t i = 0; i < depth; ++i) {
    std::vector<ir::Index> index = identity_index(behind);
    index.push_back(ir::constant(static_cast<int64_t>(i)));
    e.reads.push_back(plain_read(indices, std::move(index)));
  }
  if (depth == 1 && !c.folds()) return emit_lookup(c, std::move(e), batch);
  emit_selection(c, std::move(e), from, selected);
}

// y[.., k, ..] = index[.., ..] == k ? on : off
void import_one_hot(Context& c) {
  const int indices = c.input(0), values = c.input(2);
  const Shape from = c.shape(indices);
  const std::optional<double> depth = c.single(c.input(1));
  if (!depth)
    refuse("depth must be a constant with one element", "its value is needed to know the shape");
  if (c.shape(values) != Shape{2})
    refuse(fmt::format("values has shape [{}], expected [2]", fmt::join(c.shape(values), ", ")));
  if (!(*depth >= 1 && *depth < 1e9)) refuse(fmt::format("depth {} is out of bounds", *depth));
  const size_t axis = normal_axis(c.int_attribute("axis", -1), from.size() + 1);
  Shape to = from;
  to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<int64_t>(*depth));
  Expression e = pointwise("one_hot", to, c.tensor(values).dtype);
  std::vector<ir::Index> at;
  for (size_t d = 0; d < from.size(); ++d)
    at.push_back(ir::variable(static_cast<int>(d < axis ? d : d + 1)));
  e.reads = {plain_read(indices, std::move(at)), plain_read(values, {ir::constant(0)}),
             plain_read(values, {ir::constant(1)})};
  e.body = choose(points_at(0, to[axis], axis_value(axis)), ir::read(2), ir::read(1));
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace assay::import
