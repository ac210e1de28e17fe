#include "compiler/passes/lift.h"

#include <algorithm>

#include "compiler/passes/fuse_epilogues.h"
#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

using Shape = std::vector<int64_t>;

// The same row-major position in `to`: an index per dimension of `to`, over axes with the extents
// of `from`.
std::vector<ir::Index> same_place(const Shape& from, const Shape& to) {
  std::vector<ir::Range> ranges;
  for (int64_t e : from) ranges.push_back({0, e - 1});
  ir::Index flat;
  int64_t stride = 1;
  for (size_t d = from.size(); d-- > 0; stride *= from[d])
    if (from[d] > 1) flat = std::move(flat) + ir::variable(static_cast<int>(d), stride);
  std::vector<ir::Index> out(to.size());
  stride = 1;
  for (size_t d = to.size(); d-- > 0; stride *= to[d])
    out[d] = ir::simplify(ir::modulo(ir::divide(flat, stride, ranges), to[d], ranges), ranges);
  return out;
}

const Shape& shape_of(const ir::Graph& g, int tensor) {
  return g.tensors[static_cast<size_t>(tensor)].shape;
}

// Is tensor `x` the result of a reduction and its epilogue, read by node `reader` only?
bool ends_a_chain(const ir::Graph& g, int x, int reader) {
  int p = ir::producer_of(g, x);
  if (p < 0 || is_output(g, x) || ir::consumers_of(g, x) != std::vector<int>{reader}) return false;
  while (g.nodes[static_cast<size_t>(p)].combine == ir::Combiner::none) {
    int before = -1;
    for (const ir::Read& r : g.nodes[static_cast<size_t>(p)].reads) {
      const int q = ir::producer_of(g, r.tensor);
      if (before < 0 && q >= 0 && can_follow(g, q, p)) before = q;
    }
    if (before < 0) return false;
    p = before;
  }
  return ir::is_expression(g.nodes[static_cast<size_t>(p)]);
}

// The read of node `n` whose producer it could follow as an epilogue in another shape; -1: none. It
// reads the same position of that shape itself, or through a reshape.
int lifted_read(const ir::Graph& g, int n, int& source) {
  const ir::Node& node = g.nodes[static_cast<size_t>(n)];
  const Shape& own = shape_of(g, node.output);
  for (size_t r = 0; r < node.reads.size(); ++r) {
    const ir::Read& read = node.reads[r];
    if (read.guarded || read.lookup) continue;
    source = read.tensor;
    if (shape_of(g, source) != own &&
        ir::elements(g.tensors[static_cast<size_t>(source)]) ==
            ir::elements(g.tensors[static_cast<size_t>(node.output)]) &&
        read.index == same_place(own, shape_of(g, source)) && ends_a_chain(g, source, n))
      return static_cast<int>(r);
    const int view = ir::producer_of(g, source);
    if (view < 0 || !is_identity(g, read) || !is_reshape(g, g.nodes[static_cast<size_t>(view)]) ||
        is_output(g, source))
      continue;
    if (shape_of(g, source) != own || ir::consumers_of(g, source).size() != 1) continue;
    source = g.nodes[static_cast<size_t>(view)].reads[0].tensor;
    if (ends_a_chain(g, source, view)) return static_cast<int>(r);
  }
  return -1;
}

// Inserts a reshape of `tensor` to `to` before node `at`; its output, a new tensor if `output` is
// -1.
int insert_reshape(ir::Graph& g, int tensor, const Shape& to, int at, int output) {
  if (output < 0) {
    ir::Tensor t = g.tensors[static_cast<size_t>(tensor)];
    t.name += "_as_" + std::to_string(g.tensors.size());
    t.shape = to;
    t.constant = -1;
    output = static_cast<int>(g.tensors.size());
    g.tensors.push_back(std::move(t));
  }
  ir::Node n;
  n.name = g.tensors[static_cast<size_t>(output)].name + "_reshape";
  n.op = "reshape";
  for (size_t d = 0; d < to.size(); ++d) n.axes.push_back({"i" + std::to_string(d), to[d]});
  ir::Read r;
  r.tensor = tensor;
  r.index = same_place(to, shape_of(g, tensor));
  n.reads = {std::move(r)};
  n.body = ir::read(0);
  n.output = output;
  g.nodes.insert(g.nodes.begin() + at, std::move(n));
  return output;
}

// Tensors of rank 4 and more may be blocked, and reshaping those costs a copy.
bool surely_row_major(const Shape& s) { return s.size() < 4; }

// Rewrites node `n` over the shape of `source`; false: another read does not allow it.
bool lift(ir::Graph& g, int n, int lifted, int source) {
  const ir::Node old = g.nodes[static_cast<size_t>(n)];
  const Shape from = shape_of(g, source), own = shape_of(g, old.output);
  const std::vector<ir::Index> place = same_place(from, own);
  const bool free = surely_row_major(from) && surely_row_major(own);
  ir::Node node = old;
  node.axes.clear();
  for (size_t d = 0; d < from.size(); ++d) node.axes.push_back({"i" + std::to_string(d), from[d]});
  std::optional<ir::Scalar> body = body_at(old.body, place, 0);
  if (!free || !body) return false;
  const std::vector<ir::Range> ranges = ranges_of(node);
  std::vector<size_t> reshaped;  // reads of whole tensors that need the other shape
  for (size_t r = 0; r < node.reads.size(); ++r) {
    ir::Read& read = node.reads[r];
    if (r == static_cast<size_t>(lifted) ||
        (is_identity(g, read) && read.tensor == old.reads[static_cast<size_t>(lifted)].tensor)) {
      read.tensor = source;
      read.index = same_place(from, from);
      continue;
    }
    if (read.lookup) return false;
    const ir::Read moved = composed(read, place, ranges);
    if (affine(moved))
      read = moved;
    else if (is_identity(g, read) && shape_of(g, read.tensor) == own)
      reshaped.push_back(r);
    else
      return false;
  }
  for (size_t r : reshaped) {
    node.reads[r].tensor = insert_reshape(g, node.reads[r].tensor, from, n++, -1);
    node.reads[r].index = same_place(from, from);
  }
  node.body = std::move(*body);
  ir::Tensor out = g.tensors[static_cast<size_t>(old.output)];
  out.name += "_lifted";
  out.shape = from;
  node.output = static_cast<int>(g.tensors.size());
  g.tensors.push_back(std::move(out));
  const int result = node.output;
  g.nodes[static_cast<size_t>(n)] = std::move(node);
  insert_reshape(g, result, own, n + 1, old.output);
  return true;
}

}  // namespace

ir::Graph lift_over_reshapes(ir::Graph g) {
  for (int n = 0; n < static_cast<int>(g.nodes.size()); ++n) {
    const ir::Node& node = g.nodes[static_cast<size_t>(n)];
    if (!ir::is_elementwise(node) || is_map(g, node)) continue;
    int source = -1;
    const int read = lifted_read(g, n, source);
    if (read < 0) continue;
    const int view = ir::producer_of(g, node.reads[static_cast<size_t>(read)].tensor);
    const bool through = node.reads[static_cast<size_t>(read)].tensor != source;
    if (!lift(g, n, read, source) || !through) continue;
    g.nodes.erase(g.nodes.begin() + view);  // nothing else read it
    --n;
  }
  return g;
}

}  // namespace assay::compiler
