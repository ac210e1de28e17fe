// Operators that move elements: transposes, concatenation, slices, repetition.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/limits.h"

namespace assay::import {
namespace {

Expression copy(std::string op, const Shape& to, ir::Read read) {
  Expression e;
  e.op = std::move(op);
  e.spatial = axes_for(to);
  e.reads = {std::move(read)};
  e.body = ir::read(0);
  return e;
}

}  // namespace

void import_transpose(Context& c) {
  const int x = c.input(0);
  const Shape from = c.shape(x);
  Shape order = c.ints_attribute("perm");
  if (order.empty()) {
    order.resize(from.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  if (order.size() != from.size())
    refuse(fmt::format("perm [{}] for {} dimensions", fmt::join(order, ", "), from.size()));
  normal_axes(order, from.size());  // each once
  std::vector<size_t> normal;
  for (int64_t d : order) normal.push_back(normal_axis(d, from.size()));
  c.bind(0, transposed(c, x, normal, ""));
}

// Operands without elements add nothing.
void import_concat(Context& c) {
  std::vector<int> parts;
  for (int i = 0; i < c.input_count(); ++i)
    if (!is_empty(c.shape(c.input(i)))) parts.push_back(c.input(i));
  if (parts.empty()) return c.bind(0, c.input(0));
  if (c.shape(parts[0]).empty()) refuse("scalars can not be concatenated");
  const size_t axis = normal_axis(c.int_attribute("axis", 1), c.shape(parts[0]).size());
  c.bind(0, concatenated(c, parts, axis, ""));
}

namespace {

struct Cut {
  int64_t start = 0, step = 1, count = 0;
};

// ONNX's and numpy's rule: negative positions count from the end, then both are clamped.
Cut cut_of(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (step == 0 || step == INT64_MIN) refuse("a step of 0");
  const auto place = [&](int64_t v) {
    return v < 0 ? (v < -extent ? int64_t{-1} : v + extent) : std::min(v, extent);
  };
  if (step > 0) {
    const int64_t from = std::max<int64_t>(0, place(start)), to = std::max<int64_t>(0, place(end));
    step = std::min(step, extent);
    return {from, step, to > from ? (to - from + step - 1) / step : 0};
  }
  const int64_t from = std::min(extent - 1, place(start)),
                to = std::min(extent - 1, end < -extent ? -1 : place(end));
  const int64_t back = std::min(-step, extent);
  return {from, -back, from > to ? (from - to + back - 1) / back : 0};
}

// x at start + step * i in the dimensions that are cut.
int emit_slice(Context& c, int x, const std::vector<Cut>& cuts, std::string suffix) {
  Shape to;
  std::vector<ir::Index> at;
  for (size_t d = 0; d < cuts.size(); ++d) {
    to.push_back(cuts[d].count);
    at.push_back(ir::variable(static_cast<int>(d), cuts[d].step) + cuts[d].start);
  }
  Expression e = copy("slice", to, plain_read(x, std::move(at)));
  e.suffix = std::move(suffix);
  return c.emit(std::move(e));
}

std::vector<Cut> whole(const Shape& shape) {
  std::vector<Cut> cuts;
  for (int64_t extent : shape) cuts.push_back({0, 1, extent});
  return cuts;
}

}  // namespace

void import_slice(Context& c) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  const bool by_input = c.has_input(1);
  const auto argument = [&](int input, const char* name) {
    if (!by_input) return c.ints_attribute(name);
    return c.has_input(input) ? c.integers(c.input(input)) : Shape{};
  };
  const Shape starts = argument(1, "starts"), ends = argument(2, "ends");
  Shape axes = argument(3, "axes"), steps = argument(4, "steps");
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    refuse("starts, ends, axes and steps have different lengths");
  normal_axes(axes, shape.size());
  std::vector<Cut> cuts = whole(shape);
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t d = normal_axis(axes[i], shape.size());
    cuts[d] = cut_of(starts[i], ends[i], steps[i], shape[d]);
  }
  c.bind(0, emit_slice(c, x, cuts, ""));
}

void import_split(Context& c) {
  const int x = c.input(0), parts = c.node().output_size();
  const Shape shape = c.shape(x);
  const size_t axis = normal_axis(c.int_attribute("axis", 0), shape.size());
  Shape sizes = c.has_input(1) ? c.integers(c.input(1)) : c.ints_attribute("split");
  if (sizes.empty()) {
    const int64_t part = (shape[axis] + parts - 1) / std::max(parts, 1);
    for (int i = 0; i < parts; ++i)
      sizes.push_back(std::clamp(shape[axis] - part * i, int64_t{0}, part));
  }
  if (static_cast<int>(sizes.size()) != parts)
    refuse(fmt::format("{} parts for {} outputs", sizes.size(), parts));
  int64_t start = 0;
  for (int i = 0; i < parts; ++i) {
    const int64_t size = sizes[static_cast<size_t>(i)];
    if (size < 0 || size > shape[axis] - start) refuse("the parts do not fit the dimension");
    std::vector<Cut> cuts = whole(shape);
    cuts[axis] = {start, 1, size};
    c.bind(i, emit_slice(c, x, cuts, fmt::format("part{}", i)));
    start += size;
  }
  if (start != shape[axis])
    refuse(fmt::format("the parts hold {} of {} elements", start, shape[axis]));
}

void import_expand(Context& c) {
  const int x = c.input(0);
  const Shape wanted = c.integers(c.input(1));
  if (!is_empty(wanted)) c.check_shape(wanted);
  const Shape to = broadcast(c.shape(x), wanted);
  c.bind(0, c.emit(copy("expand", to, plain_read(x, broadcast_index(c.shape(x), to)))));
}

void import_tile(Context& c) {
  const int x = c.input(0);
  const Shape from = c.shape(x), repeats = c.integers(c.input(1));
  if (repeats.size() != from.size())
    refuse(fmt::format("{} repeats for {} dimensions", repeats.size(), from.size()));
  Shape to;
  std::vector<ir::Index> at;
  for (size_t d = 0; d < from.size(); ++d) {
    if (repeats[d] < 0 || repeats[d] > ir::kMaxExtent / std::max<int64_t>(from[d], 1))
      refuse("repeats are out of bounds");
    to.push_back(from[d] * repeats[d]);
    const int axis = static_cast<int>(d);
    at.push_back(repeats[d] == 1 ? ir::variable(axis)
                                 : ir::Index{{ir::Term{1, axis, {}, 1, from[d]}}, 0});
  }
  c.bind(0, c.emit(copy("tile", to, plain_read(x, std::move(at)))));
}

}  // namespace assay::import
