#include "ir/kind_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/limits.h"

namespace assay::ir {
namespace {

bool uses_axis(const Scalar& s, int axis) {
  return (s.op == ScalarOp::axis && s.operand == axis) ||
         std::any_of(s.args.begin(), s.args.end(),
                     [&](const Scalar& arg) { return uses_axis(arg, axis); });
}

class Faults {  // invariant: refers to a graph and a node that outlive it
 public:
  Faults(const Graph& g, const Node& n)
      : g_(g), n_(n), rank_(spatial_count(g, n)), axes_(static_cast<int>(n.axes.size())) {}

  std::vector<std::string> run() {
    if (!is_expression(n_) && std::any_of(n_.reads.begin(), n_.reads.end(),
                                          [](const Read& r) { return r.lookup.has_value(); }))
      add("nodes of its kind look nothing up");
    std::visit([this](const auto& kind) { check(kind); }, n_.kind);
    return std::move(out_);
  }

 private:
  void add(std::string fault) { out_.push_back(std::move(fault)); }

  bool is_axis(int axis, const char* what) {
    if (axis >= 0 && axis < rank_) return true;
    add(fmt::format("{} axis {}, its output has {} dimensions", what, axis, rank_));
    return false;
  }
  const std::string& name(int axis) const { return n_.axes[static_cast<size_t>(axis)].name; }
  bool is_read(int read) const { return read >= 0 && static_cast<size_t>(read) < n_.reads.size(); }

  // Terms that moved with the axis would not be terms of one sum.
  void check_terms(int axis) {
    bool depends = uses_axis(n_.body, axis);
    if (const auto* tuple = std::get_if<TupleReduction>(&n_.kind))
      for (const Component& c : tuple->state) depends = depends || uses_axis(c.step, axis);
    for (int r = 0; r < static_cast<int>(n_.reads.size()); ++r)
      depends = depends || (is_used(n_, r) && moves_with(n_, r, axis));
    if (depends) add(fmt::format("its terms depend on axis {}", name(axis)));
  }

  void check(const Expression&) {}

  void check(const Scan& scan) {
    if (!is_axis(scan.axis, "scans")) return;
    if (n_.combine == Combiner::none) add("scans without a combiner");
    if (axes_ > rank_) add("scans and has reduce axes");
  }

  void check(const Scatter& s) {
    if (axes_ == rank_) add("scatters without reduce axes");
    if (s.positions.empty()) add("scatters without positions");
    if (!is_read(s.initial) || !begins_with(n_.reads[static_cast<size_t>(s.initial)]))
      add(
          fmt::format("scatters into read {}, which is not a tensor of its output's shape at the "
                      "same position",
                      s.initial));
    else if (is_used(n_, s.initial))
      add("scatters terms that read the tensor it scatters into");
    for (auto p = s.positions.begin(); p != s.positions.end(); ++p) {
      if (!is_axis(p->dim, "scatters along")) continue;
      if (std::any_of(s.positions.begin(), p, [&](const Position& q) { return q.dim == p->dim; }))
        add(fmt::format("has two positions along axis {}", name(p->dim)));
      check_terms(p->dim);
      if (!is_read(p->read) || p->read == s.initial)
        add(fmt::format("has positions along axis {} in read {}, it has {}", name(p->dim), p->read,
                        n_.reads.size()));
    }
    for (const Position& p : s.positions)
      for (const Position& along : s.positions)
        if (is_read(p.read) && along.dim >= 0 && along.dim < rank_ &&
            moves_with(n_, p.read, along.dim))
          add(fmt::format("its positions depend on axis {}", name(along.dim)));
  }

  bool begins_with(const Read& r) const {
    const std::vector<int64_t>& shape = g_.tensors[static_cast<size_t>(n_.output)].shape;
    if (r.guarded || g_.tensors[static_cast<size_t>(r.tensor)].shape != shape) return false;
    for (size_t d = 0; d < r.index.size(); ++d)
      if (r.index[d] != variable(static_cast<int>(d)) &&
          (shape[d] != 1 || r.index[d] != constant(0)))
        return false;
    return true;
  }

  void check(const Sort& sort) {
    if (!is_axis(sort.axis, "sorts into")) return;
    if (axes_ != rank_ + 1)
      return add(fmt::format("sorts along {} reduce axes instead of one", axes_ - rank_));
    if (n_.combine != Combiner::none) add("sorts and has a combiner");
    const int64_t terms = n_.axes.back().extent,
                  first = n_.axes[static_cast<size_t>(sort.axis)].extent;
    if (first > terms) add(fmt::format("has the first {} of {} terms", first, terms));
    if (terms > kMostCounted)
      add(fmt::format("sorts {} terms, whose positions f32 represents exactly up to {} only", terms,
                      kMostCounted));
    check_terms(sort.axis);
  }

  void check(const TupleReduction& t) {
    if (!is_axis(t.axis, "puts the results of a tuple along")) return;
    if (axes_ == rank_) return add("reduces a tuple without reduce axes");
    if (t.over != axes_ - rank_)
      add(fmt::format("reduces a tuple over {} axes of {}", t.over, axes_ - rank_));
    if (n_.combine != Combiner::none) add("reduces a tuple and has a combiner");
    if (n_.body != Scalar()) add("reduces a tuple and has a body");
    if (t.state.empty()) add("reduces a tuple without components");
    if (const int64_t all = n_.axes[static_cast<size_t>(t.axis)].extent;
        static_cast<int64_t>(t.results.size()) != all)
      add(fmt::format("has {} results, axis {} has {} places", t.results.size(), name(t.axis),
                      all));
    check_names(t);
    const size_t before = out_.size(), own = t.state.size();
    for (const Component& c : t.state) {
      check_tree(c.step, "the step of " + c.name, own + n_.reads.size());
      check_tree(c.combine, "the combination of " + c.name, 2 * own);
      for (int a = 0; a < axes_; ++a)
        if (uses_axis(c.combine, a))
          add(fmt::format("the combination of {} uses axis {}", c.name, name(a)));
    }
    for (const Scalar& r : t.results) check_tree(r, "a result", own + n_.reads.size());
    if (out_.size() > before) return;
    check_terms(t.axis);
    for (const Scalar& r : t.results) check_result(r, static_cast<int>(own));
  }

  void check_tree(const Scalar& s, const std::string& what, size_t operands) {
    if (const std::string fault = fault_of(s, n_, operands); !fault.empty())
      add(what + " " + fault);
  }

  // Each name means one thing in a step, and so does that of the other state.
  void check_names(const TupleReduction& t) {
    std::set<std::string> names;
    for (const Axis& a : n_.axes) names.insert(a.name);
    for (const Component& c : t.state)
      if (c.name.empty() || !names.insert(c.name).second || !names.insert("other." + c.name).second)
        add(fmt::format("the component {} has the name of an axis or of another component",
                        c.name.empty() ? "''" : c.name));
  }

  // It is of all points.
  void check_result(const Scalar& s, int components) {
    for (int a = rank_; a < axes_; ++a) {
      const int read = s.operand - components;
      const bool moves = s.op == ScalarOp::axis
                             ? s.operand == a
                             : s.op == ScalarOp::read && read >= 0 && moves_with(n_, read, a);
      if (moves) add(fmt::format("a result depends on reduce axis {}", name(a)));
    }
    for (const Scalar& arg : s.args) check_result(arg, components);
  }

  const Graph& g_;
  const Node& n_;
  const int rank_, axes_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> faults_of_kind(const Graph& g, const Node& n) {
  return Faults(g, n).run();
}

}  // namespace assay::ir
