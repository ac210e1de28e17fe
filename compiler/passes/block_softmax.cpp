#include "compiler/passes/block_softmax.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compiler/passes/rewrite.h"
#include "ir/computed_type.h"

namespace assay::compiler {

namespace {

using ir::Scalar;
using ir::ScalarOp;

size_t at(int i) { return static_cast<size_t>(i); }

struct Rows {
  int largest = -1, exponentials = -1;  // nodes
  std::vector<int> sums;                // nodes that read the exponentials
  int axis = -1;                        // of the row, of the exponentials
  std::vector<int> row_axes;            // of the exponentials, per dimension of the largest
  int64_t length = 0;
};

// The only reduce axis that is longer than 1; -1: there is none, or several.
int row_axis(const ir::Graph& g, const ir::Node& n) {
  int found = -1;
  for (int a = ir::spatial_count(g, n); a < static_cast<int>(n.axes.size()); ++a) {
    if (n.axes[at(a)].extent == 1) continue;
    if (found >= 0) return -1;
    found = a;
  }
  return found;
}

// The axes of `n` that index the dimensions of a read, each its own; axes of extent 1 have none.
std::optional<std::vector<int>> axes_of_read(const ir::Graph& g, const ir::Node& n,
                                             const ir::Read& r) {
  if (r.guarded || r.lookup) return std::nullopt;
  std::vector<int> out;
  for (size_t d = 0; d < r.index.size(); ++d) {
    if (g.tensors[at(r.tensor)].shape[d] == 1) {
      out.push_back(-1);
      continue;
    }
    const std::optional<int> a = ir::variable_of(r.index[d]);
    if (!a || std::find(out.begin(), out.end(), *a) != out.end()) return std::nullopt;
    if (n.axes[at(*a)].extent != g.tensors[at(r.tensor)].shape[d]) return std::nullopt;
    out.push_back(*a);
  }
  return out;
}

// Is the tree the read times factors?
bool is_linear(const Scalar& s, int read) {
  if (s.op == ScalarOp::read) return s.operand == read;
  const auto has = [&](auto& self, const Scalar& t) -> bool {
    return (t.op == ScalarOp::read && t.operand == read) ||
           std::any_of(t.args.begin(), t.args.end(),
                       [&](const Scalar& x) { return self(self, x); });
  };
  if (s.op == ScalarOp::mul && is_linear(s.args[1], read)) return !has(has, s.args[0]);
  return (s.op == ScalarOp::mul || s.op == ScalarOp::div) && is_linear(s.args[0], read) &&
         !has(has, s.args[1]);
}

// Does the node sum the exponentials over the row?
bool is_sum(const ir::Graph& g, const Rows& rows, int n) {
  const ir::Node& sum = g.nodes[at(n)];
  const int from = g.nodes[at(rows.exponentials)].output;
  if (!ir::is_expression(sum) || sum.combine != ir::Combiner::sum) return false;
  const int axis = row_axis(g, sum);
  const auto reads = [&](const ir::Read& r) { return r.tensor == from; };
  const auto r = std::find_if(sum.reads.begin(), sum.reads.end(), reads);
  if (axis < 0 || std::count_if(sum.reads.begin(), sum.reads.end(), reads) != 1 ||
      uses_axis(sum.body, axis) || !is_linear(sum.body, static_cast<int>(r - sum.reads.begin())))
    return false;
  for (const ir::Read& other : sum.reads)
    if (!affine(other)) return false;
  const std::optional<std::vector<int>> axes = axes_of_read(g, sum, *r);
  return axes && (*axes)[at(rows.axis)] == axis;
}

std::optional<Rows> rows_of(const ir::Graph& g, int largest) {
  Rows out;
  out.largest = largest;
  const ir::Node& m = g.nodes[at(largest)];
  if (!ir::is_expression(m) || m.combine != ir::Combiner::max || is_output(g, m.output)) return {};
  const int row = row_axis(g, m);
  const std::vector<int> readers = ir::consumers_of(g, m.output);
  if (row < 0 || readers.size() != 1 || uses_axis(m.body, row)) return {};
  for (const ir::Read& r : m.reads)
    if (!affine(r)) return {};
  out.exponentials = readers[0];
  const ir::Node& e = g.nodes[at(out.exponentials)];
  if (!ir::is_elementwise(e) || is_output(g, e.output) || e.body.op != ScalarOp::exp ||
      e.body.args[0].op != ScalarOp::sub || e.body.args[0].args[1].op != ScalarOp::read)
    return {};
  const ir::Read& by = e.reads[at(e.body.args[0].args[1].operand)];
  if (by.tensor != m.output) return {};
  const std::optional<std::vector<int>> axes = axes_of_read(g, e, by);
  if (!axes) return {};
  out.row_axes = *axes;
  out.length = m.axes[at(row)].extent;
  for (int a = 0; a < static_cast<int>(e.axes.size()); ++a) {
    if (e.axes[at(a)].extent == 1 || std::find(axes->begin(), axes->end(), a) != axes->end())
      continue;
    if (out.axis >= 0) return {};
    out.axis = a;
  }
  if (out.axis < 0 || e.axes[at(out.axis)].extent != out.length || uses_axis(e.body, out.axis))
    return {};
  std::vector<int> to = *axes;
  to.resize(m.axes.size(), -1);
  to[at(row)] = out.axis;
  if (!same_value(m, m.body, e, e.body.args[0].args[0], to)) return {};
  out.sums = ir::consumers_of(g, e.output);
  for (const int n : out.sums)
    if (is_output(g, g.nodes[at(n)].output) || !is_sum(g, out, n)) return {};
  return out.sums.empty() ? std::nullopt : std::optional(out);
}

class Blocking {  // invariant: `rows` are of the graph
 public:
  Blocking(ir::Graph g, const Rows& rows, int64_t blocks)
      : g_(std::move(g)), rows_(rows), blocks_(blocks), before_(std::move(g_.nodes)) {
    g_.nodes.clear();
  }

  ir::Graph run() {
    const ir::Node m = before_[at(rows_.largest)];
    const int largest = add_tensor(m.output, "_blocks", blocks_),
              finite = add_tensor(m.output, "_of_block", blocks_),
              all = add_tensor(m.output, "_of_blocks", 0),
              weights = add_tensor(m.output, "_weights", blocks_),
              exps = add_tensor(before_[at(rows_.exponentials)].output, "_blocks", blocks_);
    g_.tensors[at(exps)].shape[at(rows_.axis + 1)] /= blocks_;
    std::vector<ir::Node> behind;  // the last of the sums
    for (int n = 0; n < static_cast<int>(before_.size()); ++n) {
      if (n == rows_.largest) {
        g_.nodes.push_back(in_blocks(m, row_axis(g_, m), largest));
        g_.nodes.push_back(at_least_finite(m, largest, finite));
        behind.push_back(largest_of_all(m, finite, all));
        behind.push_back(weights_of(m, finite, all, weights));
      } else if (n == rows_.exponentials) {
        g_.nodes.push_back(exponentials(m.output, finite, exps));
      } else if (std::find(rows_.sums.begin(), rows_.sums.end(), n) != rows_.sums.end()) {
        const int parts = add_tensor(before_[at(n)].output, "_blocks", blocks_);
        g_.nodes.push_back(sum_in_blocks(n, exps, parts));
        behind.push_back(sum_of_blocks(n, weights, parts));
        if (n == rows_.sums.back())
          std::move(behind.begin(), behind.end(), std::back_inserter(g_.nodes));
      } else {
        g_.nodes.push_back(before_[at(n)]);
      }
    }
    put_in_order();
    return std::move(g_);
  }

 private:
  // Like `of`, with a first dimension for `blocks` > 0 of them.
  int add_tensor(int of, const char* suffix, int64_t blocks) {
    ir::Tensor t = g_.tensors[at(of)];
    t.name += suffix;
    t.dtype = ir::DType::f32;
    if (blocks > 0) t.shape.insert(t.shape.begin(), blocks);
    g_.tensors.push_back(std::move(t));
    return static_cast<int>(g_.tensors.size()) - 1;
  }

  ir::Node in_blocks(const ir::Node& n, int axis, int output) const {
    ir::Node out = in_parts(n, axis, blocks_, "block");
    out.name += ".blocks";
    out.output = output;
    return out;
  }

  static std::vector<ir::Index> own_position(const ir::Node& n) {
    std::vector<ir::Index> out;
    for (int a = 0; a < static_cast<int>(n.axes.size()); ++a)
      out.push_back(n.axes[at(a)].extent > 1 ? ir::variable(a) : ir::constant(0));
    return out;
  }

  // An elementwise node of the largest ones, with blocks first.
  ir::Node of_rows(const ir::Node& m, const char* name, int output) const {
    ir::Node out;
    out.name = m.name + name;
    out.op = "max";
    out.output = output;
    out.axes.assign(m.axes.begin(), m.axes.begin() + ir::spatial_count(g_, m));
    out.axes.insert(out.axes.begin(), {"block", blocks_});
    return out;
  }

  ir::Node at_least_finite(const ir::Node& m, int largest, int output) const {
    ir::Node out = of_rows(m, ".finite", output);
    out.reads = {{largest, own_position(out)}};
    out.body = ir::apply(
        ScalarOp::max,
        {ir::read(0), ir::number(static_cast<double>(std::numeric_limits<float>::lowest()))});
    return out;
  }

  ir::Node largest_of_all(const ir::Node& m, int finite, int output) const {
    ir::Node out = of_rows(m, ".all", output);
    std::rotate(out.axes.begin(), out.axes.begin() + 1, out.axes.end());
    std::vector<ir::Index> position = own_position(out);
    std::rotate(position.begin(), position.end() - 1, position.end());
    out.reads = {{finite, std::move(position)}};
    out.body = ir::read(0);
    out.combine = ir::Combiner::max;
    return out;
  }

  ir::Node weights_of(const ir::Node& m, int finite, int all, int output) const {
    ir::Node out = of_rows(m, ".weights", output);
    out.op = "exp";
    const std::vector<ir::Index> position = own_position(out);
    out.reads = {{finite, position}, {all, {position.begin() + 1, position.end()}}};
    out.body = ir::apply(ScalarOp::exp, {ir::apply(ScalarOp::sub, {ir::read(0), ir::read(1)})});
    return out;
  }

  ir::Node exponentials(int largest, int finite, int output) const {
    ir::Node out = in_blocks(before_[at(rows_.exponentials)], rows_.axis, output);
    for (ir::Read& r : out.reads) {
      if (r.tensor != largest) continue;
      r.tensor = finite;
      r.index.insert(r.index.begin(), ir::variable(0));
    }
    return out;
  }

  ir::Node sum_in_blocks(int n, int exps, int output) const {
    const ir::Node& sum = before_[at(n)];
    const int row = row_axis(g_, sum), from = before_[at(rows_.exponentials)].output;
    ir::Node out = in_blocks(sum, row, output);
    for (ir::Read& r : out.reads) {
      if (r.tensor != from) continue;
      r.tensor = exps;
      r.index[at(rows_.axis)] = ir::variable(row + 1);
      r.index.insert(r.index.begin(), ir::variable(0));
    }
    return out;
  }

  ir::Node sum_of_blocks(int n, int weights, int parts) const {
    const ir::Node& sum = before_[at(n)];
    const int from = before_[at(rows_.exponentials)].output, rank = ir::spatial_count(g_, sum);
    ir::Node out = sum;
    out.op = "join";
    out.axes.resize(at(rank));
    out.axes.push_back({"block", blocks_});
    const auto r = std::find_if(sum.reads.begin(), sum.reads.end(),
                                [&](const ir::Read& x) { return x.tensor == from; });
    ir::Read weight{weights, {ir::variable(rank)}}, part{parts, {ir::variable(rank)}};
    for (const int a : rows_.row_axes)
      weight.index.push_back(a < 0 ? ir::constant(0) : r->index[at(a)]);
    for (int a = 0; a < rank; ++a)
      part.index.push_back(out.axes[at(a)].extent > 1 ? ir::variable(a) : ir::constant(0));
    out.reads = {std::move(weight), std::move(part)};
    out.body = ir::apply(ScalarOp::mul, {ir::read(0), ir::read(1)});
    return out;
  }

  // What reads the sums behind them; all else stays where it is.
  void put_in_order() {
    std::vector<ir::Node> left = std::exchange(g_.nodes, {});
    std::set<int> unmade;
    for (const ir::Node& n : left) unmade.insert(n.output);
    while (!left.empty()) {
      const auto next = std::find_if(left.begin(), left.end(), [&](const ir::Node& n) {
        return std::none_of(n.reads.begin(), n.reads.end(),
                            [&](const ir::Read& r) { return unmade.contains(r.tensor); });
      });
      unmade.erase(next->output);
      g_.nodes.push_back(std::move(*next));
      left.erase(next);
    }
  }

  ir::Graph g_;
  const Rows rows_;
  const int64_t blocks_;
  std::vector<ir::Node> before_;
};

// The rows' nodes, what makes their terms, and what reads their sums element by element. `largest`:
// its number there.
ir::Graph part_of(const ir::Graph& g, const Rows& rows, int& largest) {
  std::vector<bool> inside(g.nodes.size(), false);
  const auto take = [&](int n) { inside[at(n)] = true; };
  take(rows.largest);
  take(rows.exponentials);
  for (const int n : rows.sums) {
    take(n);
    for (const int reader : ir::consumers_of(g, g.nodes[at(n)].output))
      if (ir::is_elementwise(g.nodes[at(reader)])) take(reader);
  }
  for (const ir::Read& r : g.nodes[at(rows.largest)].reads) {
    const int from = ir::producer_of(g, r.tensor);
    if (from < 0 || is_output(g, r.tensor)) continue;
    const std::vector<int> readers = ir::consumers_of(g, r.tensor);
    if (std::all_of(readers.begin(), readers.end(), [&](int n) { return inside[at(n)]; }))
      take(from);
  }
  largest = static_cast<int>(std::count(inside.begin(), inside.begin() + rows.largest, true));
  return part_with(g, inside);
}

}  // namespace

ir::Graph block_softmax(ir::Graph g, const BlockCounts& counts, const FasterGraph& faster) {
  const auto tensors = static_cast<int>(g.tensors.size());
  for (int n = 0; n < static_cast<int>(g.nodes.size()); ++n) {
    if (g.nodes[at(n)].output >= tensors) continue;  // blocks have the form of rows
    const std::optional<Rows> rows = rows_of(g, n);
    if (!rows) continue;
    const ir::Node& m = g.nodes[at(n)];
    int64_t count = 1;
    for (int a = 0; a < ir::spatial_count(g, m); ++a) count *= m.axes[at(a)].extent;
    int largest = -1;
    const ir::Graph now = part_of(g, *rows, largest);
    const std::optional<Rows> same = rows_of(now, largest);
    for (const int64_t blocks : counts(count, rows->length)) {
      if (!same || blocks < 2 || rows->length % blocks != 0 ||
          !faster(now, Blocking(now, *same, blocks).run()))
        continue;
      g = Blocking(std::move(g), *rows, blocks).run();
      break;
    }
  }
  return g;
}

}  // namespace assay::compiler
