#include "compiler/library/operators.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/label.h"

namespace assay::compiler {
namespace {

using Kind = LibraryOperator::Kind;

double bytes_of(const ir::Tensor& t) {
  return static_cast<double>(ir::elements(t)) * ir::bytes_of(t.dtype);
}

// The two reads whose products are summed; -1: the node is no such sum.
std::pair<int, int> library_factors(const ir::Node& n) {
  const bool sums = ir::is_expression(n) && n.combine == ir::Combiner::sum &&
                    n.body.op == ir::ScalarOp::mul && n.body.args.size() == 2;
  if (!sums) return {-1, -1};
  const ir::Scalar &a = n.body.args[0], &b = n.body.args[1];
  if (a.op != ir::ScalarOp::read || b.op != ir::ScalarOp::read || a.operand == b.operand)
    return {-1, -1};
  return {a.operand, b.operand};
}

struct LibraryAxes {
  double batches = 1, m = 1, n = 1, k = 1;
  int a = -1, b = -1;  // reads
};

LibraryAxes library_axes(const ir::Graph& g, const ir::Node& node) {
  LibraryAxes s;
  std::tie(s.a, s.b) = library_factors(node);
  if (s.a < 0) return s;
  for (size_t i = 0; i < node.axes.size(); ++i) {
    const int axis = static_cast<int>(i);
    const double extent = static_cast<double>(node.axes[i].extent);
    const bool in_a = ir::moves_with(node, s.a, axis), in_b = ir::moves_with(node, s.b, axis);
    if (ir::is_reduce(g, node, axis))
      s.k *= extent;
    else if (in_a && in_b)
      s.batches *= extent;
    else
      (in_b ? s.n : s.m) *= extent;
  }
  return s;
}

// Sums of products that reuse both operands, or whose operands are whole matrices. A depthwise
// convolution is none: each weight meets one channel.
bool is_library_product(const LibraryAxes& s) {
  return s.a >= 0 && s.k > 1 && (std::min(s.m, s.n) > 1 || s.batches <= 1);
}

void count_scalar(const ir::Scalar& s, double times, model::Operations& out) {
  using Op = ir::ScalarOp;
  switch (s.op) {
    case Op::read:
    case Op::constant:
    case Op::axis:
      break;
    case Op::div:
      out.divisions += times;
      break;
    case Op::pow:
      out.functions += 2 * times;
      break;  // an exponential and a logarithm
    case Op::exp:
    case Op::log:
    case Op::sqrt:
    case Op::tanh:
    case Op::erf:
      out.functions += times;
      break;
    default:
      out.simple += times;
  }
  for (const ir::Scalar& a : s.args) count_scalar(a, times, out);
}

// Does the node reduce rows: whole inner dimensions of what it reads, each element once? Windows
// overlap, and sums over outer dimensions run along rows of lanes.
bool reduces_rows(const ir::Graph& g, const ir::Node& n) {
  for (const ir::Read& r : n.reads) {
    if (r.index.empty()) continue;
    bool inner = false;
    for (size_t a = 0; a < n.axes.size(); ++a) {
      const int axis = static_cast<int>(a);
      if (!ir::is_reduce(g, n, axis) || n.axes[a].extent == 1) continue;
      inner |= ir::depends_on(r.index.back(), axis);
      for (const ir::Index& i : r.index) {
        if (!ir::depends_on(i, axis)) continue;
        for (size_t other = 0; other < n.axes.size(); ++other)
          if (!ir::is_reduce(g, n, static_cast<int>(other)) &&
              ir::depends_on(i, static_cast<int>(other)))
            return false;
      }
    }
    if (inner) return true;
  }
  return false;
}

class Partition {
 public:
  explicit Partition(const ir::Graph& g) : g_(g), group_(g.nodes.size(), -1) {}

  std::vector<LibraryOperator> run() {
    for (size_t i = 0; i < g_.nodes.size(); ++i) place(static_cast<int>(i));
    for (LibraryOperator& o : out_) finish(o);
    return std::move(out_);
  }

 private:
  const ir::Node& node(int i) const { return g_.nodes[static_cast<size_t>(i)]; }
  const ir::Tensor& tensor(int t) const { return g_.tensors[static_cast<size_t>(t)]; }

  // Elements of a row that the node reduces; 0: it reduces nothing.
  double reduced(const ir::Node& n) const {
    double columns = 0;
    for (size_t a = 0; a < n.axes.size(); ++a)
      if (ir::is_reduce(g_, n, static_cast<int>(a)))
        columns = std::max(columns, 1.0) * static_cast<double>(n.axes[a].extent);
    return columns;
  }

  // May the node run in the launch of a group that computes one of its operands?
  bool may_join(const ir::Node& n, const LibraryOperator& o) const {
    if (!ir::is_expression(n)) return false;
    const double columns = reduced(n);
    if (o.kind == Kind::product) {
      const double results = o.batches * o.m * o.n;
      return columns == 0 && static_cast<double>(ir::elements(tensor(n.output))) == results;
    }
    if (o.kind == Kind::rows) return columns == 0 || columns == o.columns;
    return columns == 0 || o.elements == static_cast<double>(ir::points_of(n));
  }

  // An epilogue's product has no other reader, since its result would have to be written as well.
  int joined_group(const ir::Node& n) const {
    int found = -1;
    for (const ir::Read& r : n.reads) {
      const int producer = ir::producer_of(g_, r.tensor);
      const int group = producer < 0 ? -1 : group_[static_cast<size_t>(producer)];
      if (group < 0 || !may_join(n, out_[static_cast<size_t>(group)])) continue;
      const bool product = out_[static_cast<size_t>(group)].kind == Kind::product;
      if (product && ir::consumers_of(g_, r.tensor).size() > 1) continue;
      found = std::max(found, group);
    }
    return found;
  }

  void place(int i) {
    const ir::Node& n = node(i);
    const LibraryAxes s = library_axes(g_, n);
    int group = is_library_product(s) ? -1 : joined_group(n);
    if (group < 0) {
      group = static_cast<int>(out_.size());
      out_.emplace_back();
      start(out_.back(), n, s);
    }
    group_[static_cast<size_t>(i)] = group;
    add(out_[static_cast<size_t>(group)], i, s);
  }

  void start(LibraryOperator& o, const ir::Node& n, const LibraryAxes& s) const {
    o.name = n.name;
    o.label = ir::label_of(g_, n);
    if (!is_library_product(s)) return;
    o.kind = Kind::product;
    o.batches = s.batches, o.m = s.m, o.n = s.n, o.k = s.k;
    o.a_bytes = bytes_of(tensor(n.reads[static_cast<size_t>(s.a)].tensor));
    o.b_bytes = bytes_of(tensor(n.reads[static_cast<size_t>(s.b)].tensor));
    o.type = tensor(n.reads[static_cast<size_t>(s.a)].tensor).dtype;
  }

  void add(LibraryOperator& o, int i, const LibraryAxes& s) const {
    const ir::Node& n = node(i);
    o.nodes.push_back(i);
    o.flops += ir::flops_of(g_, n);
    const double points = static_cast<double>(ir::points_of(n)), columns = reduced(n);
    const bool rows = columns > 1 && reduces_rows(g_, n);
    const double results = static_cast<double>(ir::elements(tensor(n.output)));
    o.elements = std::max(o.elements, rows ? points : results);
    if (is_library_product(s)) return;
    if (columns > 1 && !rows) {
      const size_t factors = s.a >= 0 ? 2 : 1;
      o.window_reads += points * static_cast<double>(factors);
      o.operations.multiply_adds += s.a >= 0 ? points : 0;
    }
    count_scalar(n.body, points, o.operations);
    if (columns > 0) o.operations.simple += points;  // the combiner
    if (rows && o.kind != Kind::product) {
      o.kind = Kind::rows;
      o.columns = columns;
      o.rows = points / columns;
      o.reductions.push_back(n.combine);
    }
  }

  // Bytes from and to far memory, once the group's nodes are known.
  void finish(LibraryOperator& o) const {
    std::set<int> inside, read, written;
    for (const int i : o.nodes) inside.insert(node(i).output);
    for (const int i : o.nodes) {
      for (const ir::Read& r : node(i).reads)
        if (!inside.contains(r.tensor)) read.insert(r.tensor);
      const int t = node(i).output;
      const std::vector<int> readers = ir::consumers_of(g_, t);
      const bool outside = std::any_of(readers.begin(), readers.end(), [&](int reader) {
        return std::find(o.nodes.begin(), o.nodes.end(), reader) == o.nodes.end();
      });
      const bool result = std::find(g_.outputs.begin(), g_.outputs.end(), t) != g_.outputs.end();
      if (outside || result || readers.empty()) written.insert(t);
    }
    for (const int t : read) o.read += bytes_of(tensor(t));
    for (const int t : written) {
      o.written += bytes_of(tensor(t));
      if (o.kind == Kind::rows && static_cast<double>(ir::elements(tensor(t))) >= o.elements)
        o.writes_rows = true;
    }
    if (o.kind != Kind::product) o.label = ir::label_of(g_, node(o.nodes.back()));
    if (o.kind != Kind::product && !read.empty()) o.type = tensor(*read.begin()).dtype;
  }

  const ir::Graph& g_;
  std::vector<int> group_;
  std::vector<LibraryOperator> out_;
};

}  // namespace

std::vector<LibraryOperator> library_operators(const ir::Graph& g) { return Partition(g).run(); }

}  // namespace assay::compiler
