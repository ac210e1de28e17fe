#include "compiler/passes/fold.h"

#include <algorithm>
#include <numeric>

#include "compiler/passes/fuse_epilogues.h"
#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

const std::vector<int64_t>& shape_of(const ir::Graph& g, int tensor) {
  return g.tensors[static_cast<size_t>(tensor)].shape;
}

// Only dimensions of extent 1 are added or dropped: each is read at an axis or at 0.
bool only_ones_differ(const ir::Node& n) {
  return std::all_of(n.reads[0].index.begin(), n.reads[0].index.end(), [](const ir::Index& i) {
    return i == ir::constant(0) ||
           (i.offset == 0 && i.terms.size() == 1 && i.terms[0].var >= 0 && i.terms[0].coeff == 1 &&
            i.terms[0].div == 1 && i.terms[0].mod == 0);
  });
}

bool only_reshapes_read(const ir::Graph& g, const ir::Node& n) {
  const std::vector<int> readers = ir::consumers_of(g, n.output);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](int r) {
    return is_reshape(g, g.nodes[static_cast<size_t>(r)]);
  });
}

// A read of the operand at the same row-major position as node `n`'s output.
ir::Read reshaped_read(const ir::Graph& g, int tensor, const ir::Node& n) {
  const std::vector<ir::Range> ranges = ranges_of(n);
  ir::Index flat;
  int64_t stride = 1;
  for (size_t d = n.axes.size(); d-- > 0; stride *= n.axes[d].extent)
    flat = std::move(flat) + ir::variable(static_cast<int>(d), stride);
  ir::Read out;
  out.tensor = tensor;
  const std::vector<int64_t>& shape = shape_of(g, tensor);
  out.index.resize(shape.size());
  stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    out.index[d] =
        ir::simplify(ir::modulo(ir::divide(flat, stride, ranges), shape[d], ranges), ranges);
  return out;
}

// Per dimension of a map's operand, the axis that indexes it, if the map only permutes dimensions.
std::optional<std::vector<int>> permutation_of(const ir::Graph& g, const ir::Node& m) {
  const std::vector<int64_t>& from = shape_of(g, m.reads[0].tensor);
  if (!only_ones_differ(m) || from.size() != m.axes.size()) return std::nullopt;
  std::vector<int> axis_of(from.size(), -1);
  std::vector<bool> used(from.size(), false);
  for (size_t d = 0; d < from.size(); ++d) {
    if (m.reads[0].index[d].terms.empty()) continue;
    const auto a = static_cast<size_t>(m.reads[0].index[d].terms[0].var);
    if (used[a] || m.axes[a].extent != from[d]) return std::nullopt;
    used[a] = true;
    axis_of[d] = static_cast<int>(a);
  }
  for (size_t d = 0; d < from.size(); ++d) {  // dimensions of extent 1 take the remaining axes
    if (axis_of[d] >= 0) continue;
    size_t a = 0;
    while (a < used.size() && (used[a] || m.axes[a].extent != from[d])) ++a;
    if (a == used.size()) return std::nullopt;
    used[a] = true;
    axis_of[d] = static_cast<int>(a);
  }
  return axis_of;
}

bool permutes_all(const ir::Graph& g, const ir::Node& m) {
  const bool any_left_out = std::any_of(m.reads[0].index.begin(), m.reads[0].index.end(),
                                        [](const ir::Index& i) { return i.terms.empty(); });
  return !any_left_out && permutation_of(g, m).has_value();
}

// Are the lanes of a product with reuse strided in read `r`: its last axis indexes it, but another
// dimension is innermost? Packing them inside the product costs more than one transposing step.
// Constants never are, since programs pack them.
bool reads_across(const ir::Graph& g, const ir::Node& product, const ir::Read& r) {
  if (!reuses_operands(g, product) || g.tensors[static_cast<size_t>(r.tensor)].constant >= 0)
    return false;
  int last = ir::spatial_count(g, product) - 1;
  while (last > 0 && product.axes[static_cast<size_t>(last)].extent == 1) --last;
  size_t inner = r.index.size();
  while (inner > 0 && r.index[inner - 1].terms.empty()) --inner;
  const bool along = std::any_of(r.index.begin(), r.index.end(),
                                 [&](const ir::Index& i) { return ir::depends_on(i, last); });
  return along && !ir::depends_on(r.index[inner - 1], last);
}

// The readers of map `m` with the map composed into their indices; empty if one can not have it.
std::vector<ir::Node> readers_through(const ir::Graph& g, const ir::Node& m,
                                      const std::vector<int>& readers) {
  std::vector<ir::Node> out;
  const bool reshapes = is_reshape(g, m);
  for (int r : readers) {
    ir::Node reader = g.nodes[static_cast<size_t>(r)];
    if (!ir::is_expression(reader)) return {};
    const bool into_reshape = is_reshape(g, reader);
    const std::vector<ir::Range> ranges = ranges_of(reader);
    for (ir::Read& read : reader.reads) {
      if (read.tensor != m.output) continue;
      // Guards survive a permutation, whose bounds are the operand's; other maps change them.
      if (read.lookup || (read.guarded && !permutes_all(g, m))) return {};
      const bool guarded = read.guarded;
      const double fill = read.fill;
      const bool across = reads_across(g, reader, read);
      read = into_reshape && reshapes ? reshaped_read(g, m.reads[0].tensor, reader)
                                      : composed(m.reads[0], read.index, ranges);
      read.guarded = guarded;
      read.fill = fill;
      if (!(into_reshape && reshapes) && !affine(read)) return {};
      if (!across && reads_across(g, reader, read)) return {};
    }
    out.push_back(std::move(reader));
  }
  return out;
}

bool compose_away(ir::Graph& g, int m) {
  const ir::Node node = g.nodes[static_cast<size_t>(m)];
  const std::vector<int> readers = ir::consumers_of(g, node.output);
  if (is_output(g, node.output) || readers.empty()) return false;
  std::vector<ir::Node> through = readers_through(g, node, readers);
  if (through.empty()) return false;
  for (size_t i = 0; i < readers.size(); ++i)
    g.nodes[static_cast<size_t>(readers[i])] = std::move(through[i]);
  g.nodes.erase(g.nodes.begin() + m);
  return true;
}

void renumber_axes(ir::Scalar& s, const std::vector<int>& axis_of) {
  if (s.op == ir::ScalarOp::axis && static_cast<size_t>(s.operand) < axis_of.size())
    s.operand = axis_of[static_cast<size_t>(s.operand)];
  for (ir::Scalar& a : s.args) renumber_axes(a, axis_of);
}

// The read of `n` whose value it would take in registers as an epilogue; -1: none.
int chained_read(const ir::Graph& g, int n) {
  const ir::Node& node = g.nodes[static_cast<size_t>(n)];
  for (size_t r = 0; r < node.reads.size(); ++r) {
    const int p = ir::producer_of(g, node.reads[r].tensor);
    if (p >= 0 && can_follow(g, p, n)) return static_cast<int>(r);
  }
  return -1;
}

// Moves axis d of node `n` to axis_of[d] and its result to `output`; likewise the chain of nodes
// before it, down to the reduction whose epilogue they are.
void permute(ir::Graph& g, int n, const std::vector<int>& axis_of, int output) {
  const int chained = chained_read(g, n);
  int before = -1;
  if (chained >= 0) {
    const int taken = g.nodes[static_cast<size_t>(n)].reads[static_cast<size_t>(chained)].tensor;
    before = ir::producer_of(g, taken);
    if (is_map(g, g.nodes[static_cast<size_t>(before)])) before = -1;
  }
  ir::Node& node = g.nodes[static_cast<size_t>(n)];
  const ir::Node old = node;
  for (size_t d = 0; d < axis_of.size(); ++d)
    node.axes[static_cast<size_t>(axis_of[d])] = old.axes[d];
  const std::vector<ir::Range> ranges = ranges_of(node);
  const auto moved = [&](int a) {
    return ir::variable(static_cast<size_t>(a) < axis_of.size() ? axis_of[static_cast<size_t>(a)]
                                                                : a);
  };
  for (ir::Read& r : node.reads)
    for (ir::Index& i : r.index) i = ir::simplify(ir::substitute(i, moved), ranges);
  renumber_axes(node.body, axis_of);
  node.output = output;
  if (before < 0) return;
  ir::Tensor t = g.tensors[static_cast<size_t>(old.reads[static_cast<size_t>(chained)].tensor)];
  t.name += "_permuted";
  t.shape = shape_of(g, output);
  const int taken = static_cast<int>(g.tensors.size());
  for (ir::Read& r : node.reads) {
    if (r.tensor != old.reads[static_cast<size_t>(chained)].tensor) continue;
    r.tensor = taken;
    for (size_t d = 0; d < r.index.size(); ++d) r.index[d] = ir::variable(static_cast<int>(d));
  }
  g.tensors.push_back(std::move(t));
  permute(g, before, axis_of, taken);
}

bool sink(ir::Graph& g, int m) {
  const ir::Node node = g.nodes[static_cast<size_t>(m)];
  const int from = node.reads[0].tensor, p = ir::producer_of(g, from);
  if (p < 0 || is_output(g, from) || ir::consumers_of(g, from).size() != 1 ||
      is_reshape(g, g.nodes[static_cast<size_t>(p)]) ||
      !ir::is_expression(g.nodes[static_cast<size_t>(p)]))
    return false;
  const std::optional<std::vector<int>> axis_of = permutation_of(g, node);
  if (!axis_of) return false;
  permute(g, p, *axis_of, node.output);
  g.nodes.erase(g.nodes.begin() + m);
  return true;
}

}  // namespace

ir::Graph fold(ir::Graph g) {
  for (int m = 0; m < static_cast<int>(g.nodes.size()); ++m) {
    const ir::Node& node = g.nodes[static_cast<size_t>(m)];
    if (!is_map(g, node)) continue;
    const bool free = is_reshape(g, node);
    if (free && !only_ones_differ(node) && !only_reshapes_read(g, node)) continue;
    if (compose_away(g, m) || (!free && sink(g, m))) --m;
  }
  return g;
}

}  // namespace assay::compiler
