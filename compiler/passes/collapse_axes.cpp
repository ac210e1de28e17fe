#include "compiler/passes/collapse_axes.h"

#include <algorithm>
#include <utility>

namespace assay::compiler {

namespace {

bool mentions_axes(const ir::Scalar& s) {
  return s.op == ir::ScalarOp::axis || std::any_of(s.args.begin(), s.args.end(), mentions_axes);
}

// Adjacent axes `first_` and `first_` + 1 of every node, and the dimensions they index.
class AxisPair {  // invariant: dims_[t] is the first of two dimensions of tensor t that they index;
                  // -1: they index none; -2: not known yet
 public:
  AxisPair(const Problem& p, int first) : p_(p), first_(first), dims_(p.graph.tensors.size(), -2) {
    for (const ir::Node& n : p.graph.nodes) dims_[static_cast<size_t>(n.output)] = first;
  }

  bool collapses() {
    const std::vector<int64_t>& shape =
        p_.graph.tensors[static_cast<size_t>(p_.graph.nodes[0].output)].shape;
    for (const ir::Node& n : p_.graph.nodes) {
      if (p_.graph.tensors[static_cast<size_t>(n.output)].shape != shape || mentions_axes(n.body))
        return false;
      for (const ir::Read& r : n.reads)
        if (!agrees(n, r)) return false;
    }
    for (size_t t = 0; t < dims_.size(); ++t)
      if (dims_[t] >= 0 &&
          (p_.packable[t] ||
           p_.layouts[t] != ir::row_major(static_cast<int>(p_.graph.tensors[t].shape.size()))))
        return false;
    return true;
  }

  Problem collapsed() const {
    Problem out = p_;
    for (size_t t = 0; t < dims_.size(); ++t) {
      if (dims_[t] < 0) continue;
      std::vector<int64_t>& shape = out.graph.tensors[t].shape;
      const auto at = shape.begin() + dims_[t];
      at[0] *= at[1];
      shape.erase(at + 1);
      out.layouts[t] = ir::row_major(static_cast<int>(shape.size()));
    }
    for (ir::Node& n : out.graph.nodes) collapse(n);
    return out;
  }

 private:
  // Without axes of extent 1, whose value is 0.
  static ir::Index without_unit_axes(const ir::Node& n, const ir::Index& i) {
    return ir::substitute(i, [&](int v) {
      return n.axes[static_cast<size_t>(v)].extent == 1 ? ir::constant(0) : ir::variable(v);
    });
  }

  bool agrees(const ir::Node& n, const ir::Read& r) {
    const std::vector<int64_t>& shape = p_.graph.tensors[static_cast<size_t>(r.tensor)].shape;
    int found = -1;
    for (int d = 0; d < static_cast<int>(r.index.size()); ++d) {
      const ir::Index i = without_unit_axes(n, r.index[static_cast<size_t>(d)]);
      if (!ir::depends_on(i, first_) && !ir::depends_on(i, first_ + 1)) continue;
      if (found >= 0 && d == found + 1) continue;  // checked with the one before it
      const bool whole_pair =
          found < 0 && d + 1 < static_cast<int>(r.index.size()) && i == ir::variable(first_) &&
          without_unit_axes(n, r.index[static_cast<size_t>(d) + 1]) == ir::variable(first_ + 1) &&
          extent(n, 0) == shape[static_cast<size_t>(d)] &&
          extent(n, 1) == shape[static_cast<size_t>(d) + 1] && !r.guarded && !r.lookup;
      if (!whole_pair) return false;
      found = d;
    }
    int& known = dims_[static_cast<size_t>(r.tensor)];
    if (known == -2) known = found;
    return known == found;
  }

  int64_t extent(const ir::Node& n, int which) const {
    return n.axes[static_cast<size_t>(first_ + which)].extent;
  }

  void collapse(ir::Node& n) const {
    const auto at = n.axes.begin() + first_;
    const auto renumbered = [&](int v) { return ir::variable(v > first_ ? v - 1 : v); };
    for (ir::Read& r : n.reads) {
      const int dim = dims_[static_cast<size_t>(r.tensor)];
      std::vector<ir::Index> index;
      for (int d = 0; d < static_cast<int>(r.index.size()); ++d) {
        if (dim >= 0 && d == dim + 1) continue;
        index.push_back(dim >= 0 && d == dim
                            ? ir::variable(first_)
                            : ir::substitute(without_unit_axes(n, r.index[static_cast<size_t>(d)]),
                                             renumbered));
      }
      r.index = std::move(index);
    }
    at[0].name += at[1].name;
    at[0].extent *= at[1].extent;
    n.axes.erase(at + 1);
  }

  const Problem& p_;
  const int first_;
  std::vector<int> dims_;
};

}  // namespace

Problem collapse_axes(Problem p) {
  const auto rank = [&] {
    return static_cast<int>(
        p.graph.tensors[static_cast<size_t>(p.graph.nodes[0].output)].shape.size());
  };
  for (int first = rank() - 2; first >= 0; --first) {
    const auto ones = [&](int a) {
      return p.graph.nodes[0].axes[static_cast<size_t>(a)].extent == 1;
    };
    if (ones(first) || ones(first + 1) || !ir::is_expression(p.graph.nodes[0])) continue;
    if (AxisPair pair(p, first); pair.collapses()) p = pair.collapsed();
  }
  return p;
}

}  // namespace assay::compiler
