#include "compiler/import/unroll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/import/compose.h"
#include "compiler/import/fold.h"
#include "compiler/import/indexing.h"
#include "ir/element.h"

namespace assay::import {
namespace {

// A guarded read costs a comparison at each point. With groups of 16 a point of n parts has about
// 16 log16(n) of them, and a group is one copy more.
constexpr double kMostInGroup = 16;

// How many parts, or groups, one node joins: the same at each level.
size_t group_of(size_t parts) {
  const double count = static_cast<double>(parts);
  const double levels = std::max(1.0, std::ceil(std::log(count) / std::log(kMostInGroup) - 1e-9));
  size_t group = static_cast<size_t>(std::ceil(std::pow(count, 1 / levels) - 1e-9));
  return std::max<size_t>(group, 2);
}

// Concatenations of each `group` parts.
std::vector<int> joined(Context& c, const std::vector<int>& parts, size_t group) {
  std::vector<int> groups;
  for (size_t first = 0; first < parts.size(); first += group) {
    const auto from = parts.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = static_cast<std::ptrdiff_t>(std::min(group, parts.size() - first));
    const size_t before = c.graph.nodes.size();
    groups.push_back(concatenated(c, {from, from + count}, 0, "joined"));
    fold_constants(c, before);
  }
  return groups;
}

}  // namespace

void count_unrolled(Context& c, int64_t nodes, const std::string& taken_by) {
  const std::string others =
      c.unrolled > 0 ? fmt::format(", with {} of operators before it", c.unrolled) : "";
  if (nodes > kMostUnrolled - c.unrolled)
    refuse(fmt::format("{} take {} nodes{}; at most {} nodes of a model are unrolled", taken_by,
                       nodes, others, kMostUnrolled),
           "shorter sequences, or parts of the network as models of their own, take fewer");
  c.unrolled += nodes;
}

void fold_constants(Context& c, size_t first) {
  std::set<int> made;
  for (size_t i = first; i < c.graph.nodes.size(); ++i) {
    const ir::Node& n = c.graph.nodes[i];
    for (const ir::Read& r : n.reads)
      if (!c.is_constant(r.tensor) && !made.contains(r.tensor)) return;
    made.insert(n.output);
  }
  fold_nodes(c, first);
}

int emit_folded(Context& c, Expression e) {
  const size_t first = c.graph.nodes.size();
  const int out = c.emit(std::move(e));
  fold_constants(c, first);
  return out;
}

int element_of(Context& c, int x, size_t axis, int64_t position, std::string suffix) {
  Shape to = c.shape(x);
  to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
  std::vector<ir::Index> at = identity_index(to.size());
  at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), ir::constant(position));
  Expression e = pointwise("slice", to, c.tensor(x).dtype, std::move(suffix));
  e.reads = {plain_read(x, std::move(at))};
  e.body = ir::read(0);
  return emit_folded(c, std::move(e));
}

int reshaped_and_folded(Context& c, int x, const Shape& to, std::string suffix) {
  const size_t first = c.graph.nodes.size();
  const int out = reshaped(c, x, to, std::move(suffix));
  fold_constants(c, first);
  return out;
}

Expression stacked(Context& c, std::vector<int> parts, const Stack& s) {
  for (const int part : parts)
    if (c.shape(part) != c.shape(parts[0]) || c.tensor(part).dtype != c.tensor(parts[0]).dtype)
      refuse(fmt::format("the values of its trips have the shapes [{}] and [{}] of {} and {}, "
                         "expected one",
                         fmt::join(c.shape(parts[0]), ", "), fmt::join(c.shape(part), ", "),
                         ir::name_of(c.tensor(parts[0]).dtype), ir::name_of(c.tensor(part).dtype)),
             "they are put together in one tensor");
  Expression e = pointwise("concat", s.shape, c.tensor(parts[0]).dtype);
  std::vector<ir::Index> at = s.at;
  if (c.shape(parts[0]).empty()) {  // a guard needs a dimension
    for (int& part : parts) part = reshaped_and_folded(c, part, {1}, "element");
    at = {ir::constant(0)};
  }
  const std::vector<ir::Range> ranges = ranges_of(e.spatial);
  const int64_t extent = c.shape(parts[0])[0];
  const size_t group = group_of(parts.size());
  while (parts.size() > group) parts = joined(c, parts, group);
  int64_t first = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<ir::Index> place = at;
    place[0] = ir::simplify(place[0] + s.which * extent + -first, ranges);
    const ir::Range reached = ir::range_of(place[0], ranges);
    const int64_t whole = c.shape(parts[i])[0];
    const bool inside = reached.low >= 0 && reached.high < whole;
    e.reads.push_back(inside ? plain_read(parts[i], std::move(place))
                             : guarded_read(parts[i], std::move(place), 0));
    e.body = i == 0 ? ir::read(0) : add(std::move(e.body), ir::read(static_cast<int>(i)));
    first += whole;
  }
  return e;
}

int stacked_along(Context& c, std::vector<int> parts, size_t axis, const std::string& suffix) {
  const Shape shape = c.shape(parts[0]);
  Stack s{shape, ir::variable(static_cast<int>(axis)), {}};
  s.shape.insert(s.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                 static_cast<int64_t>(parts.size()));
  for (size_t d = 0; d < shape.size(); ++d)
    s.at.push_back(ir::variable(static_cast<int>(d < axis ? d : d + 1)));
  if (is_empty(s.shape)) return c.add_empty(c.tensor(parts[0]).dtype, s.shape);
  Expression e = stacked(c, std::move(parts), s);
  e.suffix = suffix;
  return emit_folded(c, std::move(e));
}

}  // namespace assay::import
