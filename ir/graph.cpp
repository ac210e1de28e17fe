#include "ir/graph.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/check.h"

namespace assay::ir {

Graph::Graph() = default;
Graph::Graph(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph&) = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;
bool Graph::operator==(const Graph&) const = default;
namespace {

// Operations of the body: everything but reads, constants and axis values.
double operations_of(const Scalar& s) {
  const bool leaf = s.op == ScalarOp::read || s.op == ScalarOp::constant || s.op == ScalarOp::axis;
  double sum = leaf ? 0 : 1;
  for (const Scalar& arg : s.args) sum += operations_of(arg);
  return sum;
}

// A guarded read that misses its tensor entirely needs nothing: the empty range {0, -1}.
Range clip(Range r, int64_t extent) {
  const Range clipped{std::max<int64_t>(r.low, 0), std::min(r.high, extent - 1)};
  return clipped.low > clipped.high ? Range{0, -1} : clipped;
}

}  // namespace

double identity_of(Combiner c) {
  switch (c) {
    case Combiner::none:
    case Combiner::sum:
      return 0;
    case Combiner::product:
      return 1;
    case Combiner::max:
      return -std::numeric_limits<double>::infinity();
    case Combiner::min:
      return std::numeric_limits<double>::infinity();
  }
  return 0;
}

namespace {

int uses(const Scalar& s, int read) {
  if (s.op == ScalarOp::read) return s.operand == read ? 1 : 0;
  int out = 0;
  for (auto a = s.args.begin(); a != s.args.end(); ++a)
    if (a->op == ScalarOp::read || std::find(s.args.begin(), a, *a) == a) out += uses(*a, read);
  return out;
}

}  // namespace

int uses_of(const Node& n, int read) {
  int out = uses(n.body, read);
  if (const auto* tuple = std::get_if<TupleReduction>(&n.kind)) {
    const int operand = static_cast<int>(tuple->state.size()) + read;
    for (const Component& c : tuple->state) out += uses(c.step, operand);
    for (const Scalar& result : tuple->results) out += uses(result, operand);
  }
  return out;
}

bool is_used(const Node& n, int read) { return uses_of(n, read) > 0; }

bool moves_with(const Node& n, int read, int axis) {
  const Read& r = n.reads[static_cast<size_t>(read)];
  return std::any_of(r.index.begin(), r.index.end(),
                     [&](const Index& i) { return depends_on(i, axis); }) ||
         (r.lookup && moves_with(n, r.lookup->read, axis));
}

std::optional<int64_t> position_of(double value, int64_t extent) {
  const double whole = std::trunc(value), end = static_cast<double>(extent);
  if (!(whole >= -end && whole < end)) return std::nullopt;  // nan too
  const auto at = static_cast<int64_t>(whole);
  return at < 0 ? at + extent : at;
}

int64_t elements(const Tensor& t) {
  int64_t product = 1;
  for (int64_t extent : t.shape) product *= extent;
  return product;
}

bool is_whole(const Node& n, int axis) {
  if (const auto* scan = std::get_if<Scan>(&n.kind)) return axis == scan->axis;
  if (const auto* sort = std::get_if<Sort>(&n.kind))
    return axis == sort->axis || axis == static_cast<int>(n.axes.size()) - 1;
  if (const auto* tuple = std::get_if<TupleReduction>(&n.kind))
    return axis == tuple->axis || axis >= static_cast<int>(n.axes.size()) - tuple->over;
  const auto* scatter = std::get_if<Scatter>(&n.kind);
  if (scatter == nullptr) return false;
  const size_t rank = n.reads[static_cast<size_t>(scatter->initial)].index.size();
  return axis >= static_cast<int>(rank) ||
         std::any_of(scatter->positions.begin(), scatter->positions.end(),
                     [&](const Position& p) { return p.dim == axis; });
}

std::vector<Scalar> steps_of(const TupleReduction& tuple) {
  std::vector<Scalar> out;
  for (const Component& c : tuple.state) out.push_back(c.step);
  return out;
}

std::vector<Axis> term_axes(const Node& n) {
  std::vector<Axis> out = n.axes;
  const auto drop = [&](int axis) { out[static_cast<size_t>(axis)].extent = 1; };
  if (const auto* sort = std::get_if<Sort>(&n.kind)) drop(sort->axis);
  if (const auto* tuple = std::get_if<TupleReduction>(&n.kind)) drop(tuple->axis);
  if (const auto* scatter = std::get_if<Scatter>(&n.kind))
    for (const Position& p : scatter->positions) drop(p.dim);
  return out;
}

int spatial_count(const Graph& g, const Node& n) {
  return static_cast<int>(g.tensors[static_cast<size_t>(n.output)].shape.size());
}

bool is_reduce(const Graph& g, const Node& n, int axis) { return axis >= spatial_count(g, n); }

int producer_of(const Graph& g, int tensor) {
  for (size_t i = 0; i < g.nodes.size(); ++i)
    if (g.nodes[i].output == tensor) return static_cast<int>(i);
  return -1;
}

std::vector<int> consumers_of(const Graph& g, int tensor) {
  std::vector<int> consumers;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const auto& reads = g.nodes[i].reads;
    if (std::any_of(reads.begin(), reads.end(), [&](const Read& r) { return r.tensor == tensor; }))
      consumers.push_back(static_cast<int>(i));
  }
  return consumers;
}

std::vector<Range> ranges_of(const Node& n) {
  std::vector<Range> out;
  for (const Axis& a : n.axes) out.push_back({0, a.extent - 1});
  return out;
}

double points_of(const Node& n) {
  double product = 1;
  for (const Axis& axis : term_axes(n)) product *= static_cast<double>(axis.extent);
  return product;
}

// Per point: the operations of the body and one application of the combiner; a multiply-add body
// has 2. No sort of n terms takes fewer than about log2(n) comparisons of each.
double flops_of(const Graph&, const Node& n) {
  if (const auto* tuple = std::get_if<TupleReduction>(&n.kind))
    return points_of(n) * static_cast<double>(operations_in(steps_of(*tuple)).size());
  const double sorting = std::holds_alternative<Sort>(n.kind)
                             ? std::log2(static_cast<double>(n.axes.back().extent))
                             : 0;
  return points_of(n) * (operations_of(n.body) + (n.combine == Combiner::none ? 0 : 1) + sorting);
}

std::vector<std::vector<Range>> input_regions(const Graph& g, const Node& n, Ranges tile) {
  ASSAY_CHECK(tile.size() == n.axes.size());
  std::vector<std::vector<Range>> regions;
  for (const Read& r : n.reads) {
    const std::vector<int64_t>& shape = g.tensors[static_cast<size_t>(r.tensor)].shape;
    std::vector<Range> region;
    for (size_t d = 0; d < r.index.size(); ++d) {
      if (r.lookup && r.lookup->dim == static_cast<int>(d)) {  // anywhere
        region.push_back({0, shape[d] - 1});
        continue;
      }
      const Range range = range_of(r.index[d], tile);
      region.push_back(r.guarded ? clip(range, shape[d]) : range);
    }
    regions.push_back(std::move(region));
  }
  return regions;
}

}  // namespace assay::ir
