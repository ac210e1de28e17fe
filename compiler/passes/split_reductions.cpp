#include "compiler/passes/split_reductions.h"

#include <algorithm>
#include <utility>

#include "compiler/passes/rewrite.h"
#include "ir/computed_type.h"

namespace assay::compiler {

namespace {

constexpr int64_t kMostVectors = int64_t{1} << 24;  // of a row: integers that f32 holds exactly
constexpr int64_t kFewestVectors = 4;  // of a row: summing the parts costs as much as 1.5 of them

// The axis along which read `r` is contiguous in memory; -1: none.
int innermost(const ir::Graph& g, const ir::Node& n, const ir::Read& r) {
  const std::vector<int64_t>& shape = g.tensors[static_cast<size_t>(r.tensor)].shape;
  size_t d = shape.size();
  while (d > 0 && shape[d - 1] == 1) --d;
  if (d == 0 || r.lookup || r.guarded || !affine(r)) return -1;
  for (int a = 0; a < static_cast<int>(n.axes.size()); ++a)
    if (n.axes[static_cast<size_t>(a)].extent > 1 && ir::stride_of(r.index[d - 1], a) == 1)
      return a;
  return -1;
}

// Does the read depend on a reduce axis? Otherwise it is one number for a whole row.
bool depends_on_reduction(const ir::Graph& g, const ir::Node& n, const ir::Read& r) {
  for (int a = ir::spatial_count(g, n); a < static_cast<int>(n.axes.size()); ++a)
    if (std::any_of(r.index.begin(), r.index.end(),
                    [&](const ir::Index& i) { return ir::depends_on(i, a); }))
      return true;
  return false;
}

// Is there a spatial axis along which the read is reused?
bool is_reused(const ir::Graph& g, const ir::Node& n, const ir::Read& r) {
  for (int a = 0; a < ir::spatial_count(g, n); ++a)
    if (n.axes[static_cast<size_t>(a)].extent > 1 &&
        std::none_of(r.index.begin(), r.index.end(),
                     [&](const ir::Index& i) { return ir::depends_on(i, a); }))
      return true;
  return false;
}

// The reduce axis along which all operands are contiguous; -1: none, or an operand is a constant,
// which is packed anyway.
int row_axis(const ir::Graph& g, const ir::Node& n, int width, bool ragged) {
  if (!ir::is_expression(n) || n.combine == ir::Combiner::none) return -1;
  int found = -1;
  for (const ir::Read& r : n.reads) {
    if (r.lookup || r.guarded) return -1;
    if (!depends_on_reduction(g, n, r)) continue;
    if (ragged && is_reused(g, n, r)) return -1;
    const int a = innermost(g, n, r);
    if (a < 0 || !ir::is_reduce(g, n, a) || (found >= 0 && a != found) ||
        g.tensors[static_cast<size_t>(r.tensor)].constant >= 0)
      return -1;
    found = a;
  }
  if (found < 0 || uses_axis(n.body, found)) return -1;
  const int64_t extent = n.axes[static_cast<size_t>(found)].extent;
  if (ragged && extent % width != 0 && extent / width >= kMostVectors) return -1;
  return extent >= kFewestVectors * width ? found : -1;
}

// Masks lanes at `extent` and beyond with the identity of the reduction. Only the last vector has
// such lanes. Vector and lane are compared separately, since f32 holds a position exactly only
// below 2^24.
void mask_beyond(ir::Node& n, int vectors, int lane, int64_t extent) {
  const auto below = [](int a, int64_t end) {
    ir::Scalar s;
    s.op = ir::ScalarOp::axis;
    s.operand = a;
    return ir::apply(ir::ScalarOp::less, {std::move(s), ir::number(static_cast<double>(end))});
  };
  const int64_t width = n.axes[static_cast<size_t>(lane)].extent;
  const ir::Scalar inside =
      ir::apply(ir::ScalarOp::select,
                {below(vectors, extent / width), ir::number(1), below(lane, extent % width)});
  n.body = ir::apply(ir::ScalarOp::select,
                     {inside, std::move(n.body), ir::number(ir::identity_of(n.combine))});
  for (ir::Read& r : n.reads)
    r.guarded = std::any_of(r.index.begin(), r.index.end(),
                            [&](const ir::Index& i) { return ir::depends_on(i, vectors); });
}

// The node that writes a vector of partial sums per row to `output`: one more spatial axis of
// `width` lanes, and `axis` shorter by that factor.
ir::Node parts_of(const ir::Graph& g, const ir::Node& n, int axis, int width, int output) {
  const int spatial = ir::spatial_count(g, n);
  ir::Node out = n;
  out.name += ".lanes";
  out.output = output;
  out.axes.insert(out.axes.begin() + spatial, {"lane", width});
  const int64_t extent = n.axes[static_cast<size_t>(axis)].extent;
  out.axes[static_cast<size_t>(axis) + 1].extent = (extent + width - 1) / width;
  std::vector<ir::Index> at;
  for (int a = 0; a < static_cast<int>(n.axes.size()); ++a) {
    const int now = a < spatial ? a : a + 1;
    at.push_back(a == axis ? ir::variable(now, width) + ir::variable(spatial) : ir::variable(now));
  }
  const std::vector<ir::Range> ranges = ranges_of(out);
  for (ir::Read& r : out.reads) r = composed(r, at, ranges);
  out.body = with_axis_inserted(std::move(out.body), spatial);
  if (extent % width != 0) mask_beyond(out, axis + 1, spatial, extent);
  return out;
}

ir::Node sum_of_parts(const ir::Graph& g, const ir::Node& n, int width, int parts) {
  const int spatial = ir::spatial_count(g, n);
  ir::Node out = n;
  out.axes.resize(static_cast<size_t>(spatial));
  out.axes.push_back({"lane", width});
  ir::Read r{parts, {}, false, 0};
  for (int a = 0; a <= spatial; ++a)
    r.index.push_back(out.axes[static_cast<size_t>(a)].extent > 1 ? ir::variable(a) : ir::Index{});
  out.reads = {std::move(r)};
  out.body = ir::read(0);
  return out;
}

constexpr int64_t kShortestPart = 64;  // elements of a sum

// The longest reduce axis and the number of parts to split it into; 1: it is not split.
std::pair<int, int64_t> parts_of_sum(const ir::Graph& g, const ir::Node& n, double results) {
  if (!ir::is_expression(n) || n.combine != ir::Combiner::sum) return {-1, 1};
  const int spatial = ir::spatial_count(g, n);
  double there = 1;
  for (int a = 0; a < spatial; ++a)
    there *= static_cast<double>(n.axes[static_cast<size_t>(a)].extent);
  int longest = -1;
  for (int a = spatial; a < static_cast<int>(n.axes.size()); ++a)
    if (longest < 0 ||
        n.axes[static_cast<size_t>(a)].extent > n.axes[static_cast<size_t>(longest)].extent)
      longest = a;
  if (longest < 0 || uses_axis(n.body, longest)) return {-1, 1};
  for (const ir::Read& r : n.reads)
    if (r.lookup || !affine(r)) return {-1, 1};
  const int64_t extent = n.axes[static_cast<size_t>(longest)].extent;
  int64_t parts =
      static_cast<int64_t>(std::min(results / there, static_cast<double>(extent / kShortestPart)));
  while (parts > 1 && extent % parts != 0) --parts;
  return {longest, std::max<int64_t>(1, parts)};
}

ir::Node part_of_sum(const ir::Node& n, int axis, int64_t parts, int output) {
  ir::Node out = in_parts(n, axis, parts, "part");
  out.name += ".parts";
  out.output = output;
  return out;
}

ir::Node sum_over_parts(const ir::Graph& g, const ir::Node& n, int64_t parts, int from) {
  const int spatial = ir::spatial_count(g, n);
  ir::Node out = n;
  out.op = "reduce_sum";
  out.axes.resize(static_cast<size_t>(spatial));
  out.axes.push_back({"part", parts});
  ir::Read r{from, {ir::variable(spatial)}, false, 0};
  for (int a = 0; a < spatial; ++a)
    r.index.push_back(out.axes[static_cast<size_t>(a)].extent > 1 ? ir::variable(a) : ir::Index{});
  out.reads = {std::move(r)};
  out.body = ir::read(0);
  return out;
}

// Adds the node to `to` in parts; false: it is not to be split, and nothing is added.
bool add_in_parts(ir::Graph& to, const ir::Node& n, double results) {
  const auto [axis, parts] = parts_of_sum(to, n, results);
  if (parts <= 1) return false;
  ir::Tensor partial = to.tensors[static_cast<size_t>(n.output)];
  partial.name += ".parts";
  partial.dtype = ir::computed_in(to, n);
  partial.shape.insert(partial.shape.begin(), parts);
  partial.constant = -1;
  to.tensors.push_back(std::move(partial));
  const int id = static_cast<int>(to.tensors.size()) - 1;
  to.nodes.push_back(part_of_sum(n, axis, parts, id));
  to.nodes.push_back(sum_over_parts(to, n, parts, id));
  return true;
}

}  // namespace

LaidOut split_long_sums(LaidOut laid, double results, const Faster& faster) {
  for (const ir::Node& n : std::exchange(laid.graph.nodes, {})) {
    const LaidOut now = single_node(laid.graph, laid.layouts, n);
    LaidOut then = now;
    then.graph.nodes.clear();
    const bool splits = add_in_parts(then.graph, now.graph.nodes[0], results);
    if (splits && faster(now, with_row_major_tensors(std::move(then))))
      add_in_parts(laid.graph, n, results);
    else
      laid.graph.nodes.push_back(n);
  }
  return with_row_major_tensors(std::move(laid));
}

namespace {

// Adds a tensor like the output of `n`.
int add_result(ir::Graph& to, const ir::Node& n, const char* suffix) {
  ir::Tensor t = to.tensors[static_cast<size_t>(n.output)];
  t.name += suffix;
  t.dtype = ir::computed_in(to, n);
  t.constant = -1;
  to.tensors.push_back(std::move(t));
  return static_cast<int>(to.tensors.size()) - 1;
}

// The terms from `first` on along a reduce axis.
ir::Node rest_of(const ir::Node& n, int axis, int64_t first, int output) {
  ir::Node out = n;
  out.name += ".rest";
  out.output = output;
  out.axes[static_cast<size_t>(axis)].extent -= first;
  for (ir::Read& r : out.reads)
    for (ir::Index& i : r.index)
      i = ir::substitute(
          i, [&](int a) { return a == axis ? ir::variable(a) + first : ir::variable(a); });
  return out;
}

ir::ScalarOp operation_of(ir::Combiner c) {
  switch (c) {
    case ir::Combiner::product:
      return ir::ScalarOp::mul;
    case ir::Combiner::max:
      return ir::ScalarOp::max;
    case ir::Combiner::min:
      return ir::ScalarOp::min;
    case ir::Combiner::sum:
    case ir::Combiner::none:
      break;
  }
  return ir::ScalarOp::add;
}

// The output of `n` from two partial results.
ir::Node joined(const ir::Graph& g, const ir::Node& n, int a, int b) {
  ir::Node out = n;
  out.op = "join";
  out.axes.resize(static_cast<size_t>(ir::spatial_count(g, n)));
  out.combine = ir::Combiner::none;
  out.reads.clear();
  for (const int t : {a, b}) {
    ir::Read r{t, {}, false, 0};
    for (size_t d = 0; d < out.axes.size(); ++d)
      r.index.push_back(out.axes[d].extent > 1 ? ir::variable(static_cast<int>(d)) : ir::Index{});
    out.reads.push_back(std::move(r));
  }
  out.body = ir::apply(operation_of(n.combine), {ir::read(0), ir::read(1)});
  return out;
}

// Adds `n` in lanes along `axis`, whose extent is a multiple of `width` or masked (`ragged`).
void add_in_lanes(ir::Graph& to, const ir::Node& n, int axis, int width) {
  const int id = add_result(to, n, ".lanes");
  to.tensors.back().shape.push_back(width);
  to.nodes.push_back(parts_of(to, n, axis, width, id));
  to.nodes.push_back(sum_of_parts(to, n, width, id));
}

// The same for any extent: the elements after the last whole vector are reduced by themselves.
void add_with_rest(ir::Graph& to, const ir::Node& n, int axis, int width) {
  const int64_t extent = n.axes[static_cast<size_t>(axis)].extent;
  const int64_t first = extent / width * width;
  if (first == extent) return add_in_lanes(to, n, axis, width);
  ir::Node whole = n;
  whole.name += ".vectors";
  whole.axes[static_cast<size_t>(axis)].extent = first;
  whole.output = add_result(to, n, ".vectors");
  const int rest = add_result(to, n, ".rest");
  add_in_lanes(to, whole, axis, width);
  to.nodes.push_back(rest_of(n, axis, first, rest));
  to.nodes.push_back(joined(to, n, whole.output, rest));
}

}  // namespace

ir::Graph split_reductions(const ir::Graph& g, int width, bool ragged, const Faster& faster) {
  if (width <= 1) return g;
  ir::Graph out = g;
  out.nodes.clear();
  for (const ir::Node& n : g.nodes) {
    const int axis = row_axis(g, n, width, ragged);
    const auto add = [&](ir::Graph& to, const ir::Node& node) {
      if (axis < 0)
        to.nodes.push_back(node);
      else
        (ragged ? add_in_lanes : add_with_rest)(to, node, axis, width);
    };
    if (axis >= 0 && faster && reuses_operands(g, n)) {  // it has other good lanes
      const LaidOut now = single_node(out, {}, n);
      LaidOut then = now;
      then.graph.nodes.clear();
      add(then.graph, now.graph.nodes[0]);
      if (!faster(now, with_row_major_tensors(std::move(then)))) {
        out.nodes.push_back(n);
        continue;
      }
    }
    add(out, n);
  }
  return out;
}

}  // namespace assay::compiler
