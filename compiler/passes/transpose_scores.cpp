#include "compiler/passes/transpose_scores.h"

#include <algorithm>
#include <set>

#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

constexpr int64_t kFewestRows = 16;  // fewer leave lanes idle

struct Group {  // tensors of one shape that are transposed together, and the nodes that write them
  std::set<int> tensors, writers;
  int rank = 0;
  int reductions = 0;  // along the last dimension
};

bool depends(const ir::Read& r, int axis) {
  return std::any_of(r.index.begin(), r.index.end(),
                     [&](const ir::Index& i) { return ir::depends_on(i, axis); });
}

// Does each of the last two axes index one operand, neither of them a constant?
bool is_symmetric(const ir::Graph& g, const ir::Node& n) {
  const int rank = ir::spatial_count(g, n);
  if (!is_product(n) || n.reads.size() != 2 || rank < 2) return false;
  for (const ir::Read& r : n.reads) {
    if (g.tensors[static_cast<size_t>(r.tensor)].constant >= 0 || r.lookup || r.guarded ||
        !affine(r))
      return false;
    if (depends(r, rank - 2) == depends(r, rank - 1)) return false;
  }
  return depends(n.reads[0], rank - 1) != depends(n.reads[1], rank - 1);
}

// Are reads of `n` outside the group as cheap after transposing? They depend on one of both axes.
bool other_reads_stay_cheap(const ir::Node& n, const Group& group) {
  return std::all_of(n.reads.begin(), n.reads.end(), [&](const ir::Read& r) {
    return group.tensors.contains(r.tensor) ||
           (!r.lookup && !(depends(r, group.rank - 2) && depends(r, group.rank - 1)));
  });
}

// Can reader `n` read `tensor` transposed? Elementwise readers join the group.
bool allows_transpose(const ir::Graph& g, int n, int tensor, Group& group) {
  const ir::Node& node = g.nodes[static_cast<size_t>(n)];
  const auto last = static_cast<size_t>(group.rank) - 1;
  if (!ir::is_expression(node)) return false;
  if (node.combine == ir::Combiner::none) {
    if (is_map(g, node) || g.tensors[static_cast<size_t>(node.output)].shape !=
                               g.tensors[static_cast<size_t>(tensor)].shape)
      return false;
    for (const ir::Read& r : node.reads)
      if (r.tensor == tensor && !is_identity(g, r)) return false;
    group.tensors.insert(node.output);
    group.writers.insert(n);
    return true;
  }
  for (const ir::Read& r : node.reads) {
    if (r.tensor != tensor) continue;
    if (r.guarded || r.lookup) return false;
    const int spatial = ir::spatial_count(g, node);
    if (is_product(node) && depends(r, spatial - 1)) return false;  // its lanes are along the rows
    const auto& terms = r.index[last].terms;
    if (!is_product(node) && terms.size() == 1 && terms[0].var >= spatial) ++group.reductions;
  }
  return true;
}

// The tensors to transpose with product `p`'s output; empty: a reader does not allow it.
Group group_of(const ir::Graph& g, int p) {
  const ir::Node& product = g.nodes[static_cast<size_t>(p)];
  Group group;
  group.rank = ir::spatial_count(g, product);
  const std::vector<int64_t>& shape = g.tensors[static_cast<size_t>(product.output)].shape;
  const int64_t rows = shape[static_cast<size_t>(group.rank) - 2],
                columns = shape[static_cast<size_t>(group.rank) - 1];
  if (rows < kFewestRows || 2 * rows < columns) return {};
  group.tensors = {product.output};
  group.writers = {p};
  std::vector<int> open = {product.output};
  while (!open.empty()) {
    const int tensor = open.back();
    open.pop_back();
    if (is_output(g, tensor)) return {};
    for (int n : ir::consumers_of(g, tensor)) {
      const size_t before = group.tensors.size();
      if (!allows_transpose(g, n, tensor, group)) return {};
      if (group.tensors.size() > before) open.push_back(g.nodes[static_cast<size_t>(n)].output);
    }
  }
  const bool cheap = std::all_of(group.writers.begin(), group.writers.end(), [&](int n) {
    return n == p || other_reads_stay_cheap(g.nodes[static_cast<size_t>(n)], group);
  });
  return cheap && group.reductions > 0 ? group : Group{};
}

void swap_axes(ir::Scalar& s, int a, int b) {
  if (s.op == ir::ScalarOp::axis) s.operand = s.operand == a ? b : s.operand == b ? a : s.operand;
  for (ir::Scalar& arg : s.args) swap_axes(arg, a, b);
}

// Swaps the last two axes of the writers and the last two dimensions of what they write.
void transpose(ir::Graph& g, const Group& group) {
  const int a = group.rank - 2, b = group.rank - 1;
  const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
  for (int n : group.writers) {
    ir::Node& node = g.nodes[static_cast<size_t>(n)];
    std::swap(node.axes[i], node.axes[j]);
    for (ir::Read& r : node.reads)
      for (ir::Index& index : r.index)
        index = ir::substitute(index, [&](int v) {
          return ir::variable(v == a ? b : v == b ? a : v);
        });
    swap_axes(node.body, a, b);
  }
  for (int t : group.tensors)
    std::swap(g.tensors[static_cast<size_t>(t)].shape[i],
              g.tensors[static_cast<size_t>(t)].shape[j]);
  for (ir::Node& n : g.nodes)
    for (ir::Read& r : n.reads)
      if (group.tensors.contains(r.tensor)) std::swap(r.index[i], r.index[j]);
}

// Inserts a transpose before the product if the dimension that its last axis indexes is not
// innermost in the operand.
void transpose_operand(ir::Graph& g, int& product) {
  const int last = ir::spatial_count(g, g.nodes[static_cast<size_t>(product)]) - 1;
  for (size_t k = 0; k < 2; ++k) {
    const ir::Read read = g.nodes[static_cast<size_t>(product)].reads[k];
    if (!depends(read, last)) continue;
    const auto dim = static_cast<size_t>(
        std::find_if(read.index.begin(), read.index.end(),
                     [&](const ir::Index& i) { return ir::depends_on(i, last); }) -
        read.index.begin());
    const size_t rank = read.index.size();
    if (dim + 1 == rank) return;
    ir::Tensor t = g.tensors[static_cast<size_t>(read.tensor)];
    t.name += "_turned" + std::to_string(g.tensors.size());
    ir::Node node;
    node.name = t.name;
    node.op = "transpose";
    ir::Read from, to;
    from.tensor = read.tensor;
    from.index.resize(rank);
    std::vector<size_t> order;
    for (size_t d = 0; d < rank; ++d)
      if (d != dim) order.push_back(d);
    order.push_back(dim);
    t.shape.clear();
    for (size_t d = 0; d < rank; ++d) {
      t.shape.push_back(g.tensors[static_cast<size_t>(read.tensor)].shape[order[d]]);
      node.axes.push_back({"i" + std::to_string(d), t.shape[d]});
      from.index[order[d]] = ir::variable(static_cast<int>(d));
      to.index.push_back(read.index[order[d]]);
    }
    node.output = to.tensor = static_cast<int>(g.tensors.size());
    node.reads = {std::move(from)};
    node.body = ir::read(0);
    g.tensors.push_back(std::move(t));
    g.nodes[static_cast<size_t>(product)].reads[k] = std::move(to);
    g.nodes.insert(g.nodes.begin() + product++, std::move(node));
    return;
  }
}

}  // namespace

ir::Graph transpose_scores(ir::Graph g) {
  for (int n = 0; n < static_cast<int>(g.nodes.size()); ++n) {
    if (!is_symmetric(g, g.nodes[static_cast<size_t>(n)])) continue;
    const Group group = group_of(g, n);
    if (group.tensors.empty()) continue;
    transpose(g, group);
    transpose_operand(g, n);
  }
  return g;
}

}  // namespace assay::compiler
