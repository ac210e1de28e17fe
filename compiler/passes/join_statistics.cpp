// The algebra.
//
// Softmax. The state of a set of terms x is (m, s): the largest term, and the sum of exp(x - m)
// over them. A further term x, or another set (m', s'), with M = max(m, m'):
//   sum of both = s exp(m - M) + s' exp(m' - M)
// One of the two exponents is 0, the other one -|m - m'|; a term is a set with s' = 1. m begins as
// the lowest finite number L, not as -inf, so that no difference is inf - inf, and s as 0:
//   terms of -inf add exp(-inf) = 0 while m is L; s = 0 at the end says that all terms were -inf;
//   a term inf makes m infinite, and NaN makes both NaN.
// So the largest is -inf where s = 0, else m. The sum of the old graph is NaN where m is infinite
// (inf - inf) or NaN.
//
// Variance. With any K that is the same for a row, d = x - K, A = sum of d, B = sum of d^2:
//   mean = K + A/n,     sum of (x - mean)^2 = B - A (A/n)
// States of two sets are added. The difference cancels where (mean - K)^2 is large beside the
// variance. K is a term of the row, the median of the first, the middle and the last one: a single
// outlier is not taken. No term is further from the mean than sqrt(n - 1) standard deviations
// (Samuelson, JASA 63, 1968). So the error of the sums is multiplied by n at most, and by a few
// where K is a usual term. That is why K is not 0. Rows are at most 65,536 long. No division is
// needed, as Welford's step has one. A K that is not finite is replaced by 0. With infinite terms
// the mean is then infinite, or NaN where both signs occur, and the variance is inf - inf, as
// before.
#include "compiler/passes/join_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "compiler/passes/canonicalise.h"
#include "compiler/passes/find_statistics.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

using ir::Scalar;
using ir::ScalarOp;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLowest = static_cast<double>(std::numeric_limits<float>::lowest());

Scalar call(ScalarOp op, Scalar a) { return ir::apply(op, {std::move(a)}); }
Scalar call(ScalarOp op, Scalar a, Scalar b) { return ir::apply(op, {std::move(a), std::move(b)}); }
Scalar select(Scalar where, Scalar a, Scalar b) {
  return ir::apply(ScalarOp::select, {std::move(where), std::move(a), std::move(b)});
}

// Trees over c components and reads.
Scalar with_reads_from(Scalar s, int first) {
  if (s.op == ScalarOp::read) s.operand += first;
  if (s.op == ScalarOp::axis) ++s.operand;  // behind the axis of results
  for (Scalar& a : s.args) a = with_reads_from(std::move(a), first);
  return s;
}

// Which point of a row, along each reduce axis: `half` / 2 of the way.
ir::Index point(const ir::Node& n, int axis, int half) {
  return ir::constant((n.axes[static_cast<size_t>(axis)].extent - 1) * half / 2);
}

// f at that point, of reads that are numbered from `first` on.
Scalar at_point(Scalar s, const ir::Node& n, int first, int spatial, int half) {
  if (s.op == ScalarOp::read) s.operand += first;
  if (s.op == ScalarOp::axis && s.operand >= spatial)
    return ir::number(static_cast<double>(point(n, s.operand, half).offset));
  for (Scalar& a : s.args) a = at_point(std::move(a), n, first, spatial, half);
  return s;
}

// The median of three terms; appends their reads.
Scalar usual_term(const ir::Graph& g, StatisticsPair& p) {
  const int spatial = ir::spatial_count(g, p.sum);
  const std::vector<ir::Read> reads = p.sum.reads;
  std::vector<Scalar> terms;
  for (int half = 0; half <= 2; ++half) {
    terms.push_back(with_reads_from(
        at_point(p.f, p.sum, static_cast<int>(p.sum.reads.size()), spatial, half), 2));
    for (ir::Read r : reads) {
      for (ir::Index& i : r.index)
        i = ir::simplify(
            ir::substitute(
                i, [&](int a) { return a < spatial ? ir::variable(a) : point(p.sum, a, half); }),
            ir::ranges_of(p.sum));
      p.sum.reads.push_back(std::move(r));
    }
  }
  return call(ScalarOp::max, call(ScalarOp::min, terms[0], terms[1]),
              call(ScalarOp::min, call(ScalarOp::max, terms[0], terms[1]), terms[2]));
}

ir::TupleReduction exponential_sums(const StatisticsPair& p) {
  const auto combined = [](const Scalar& m, const Scalar& s, const Scalar& other,
                           const Scalar& more, bool is_term) {
    const Scalar e = call(ScalarOp::exp,
                          call(ScalarOp::neg, call(ScalarOp::abs, call(ScalarOp::sub, m, other))));
    return select(call(ScalarOp::less, m, other),
                  call(ScalarOp::add, call(ScalarOp::mul, s, e), more),
                  call(ScalarOp::add, s, is_term ? e : call(ScalarOp::mul, more, e)));
  };
  const Scalar m = ir::read(0), s = ir::read(1), x = with_reads_from(p.f, 2);
  ir::TupleReduction out;
  out.state = {{"m", kLowest, call(ScalarOp::max, m, x), call(ScalarOp::max, m, ir::read(2))},
               {"s", 0, combined(m, s, x, ir::number(1), true),
                combined(m, s, ir::read(2), ir::read(3), false)}};
  const Scalar some = call(ScalarOp::less, ir::number(0), s);
  const Scalar finite = call(ScalarOp::less, m, ir::number(kInfinity));
  // NaN as a difference: a node with a NaN in it would not equal itself.
  const Scalar none = call(ScalarOp::sub, ir::number(kInfinity), ir::number(kInfinity));
  out.results = {
      select(call(ScalarOp::equal, s, ir::number(0)), ir::number(-kInfinity), m),
      call(ScalarOp::mul, select(some, select(finite, s, none), none), ir::number(p.factor))};
  return out;
}

ir::TupleReduction moments(const ir::Graph& g, StatisticsPair& p) {
  const Scalar any = usual_term(g, p);
  const Scalar k = select(call(ScalarOp::less, call(ScalarOp::abs, any), ir::number(kInfinity)),
                          any, ir::number(0));
  const Scalar d = call(ScalarOp::sub, with_reads_from(p.f, 2), k);
  const Scalar a = ir::read(0), b = ir::read(1);
  ir::TupleReduction out;
  out.state = {{"a", 0, call(ScalarOp::add, a, d), call(ScalarOp::add, a, ir::read(2))},
               {"b", 0, call(ScalarOp::add, b, call(ScalarOp::mul, d, d)),
                call(ScalarOp::add, b, ir::read(3))}};
  const Scalar mean = call(ScalarOp::mul, a, ir::number(1 / terms_of(g, p.sum)));
  out.results = {
      call(ScalarOp::add, k, mean),
      call(ScalarOp::mul,
           call(ScalarOp::max, call(ScalarOp::sub, b, call(ScalarOp::mul, a, mean)), ir::number(0)),
           ir::number(p.factor))};
  return out;
}

// Drops reads that no tree uses.
void drop_unused_reads(ir::Node& n, ir::TupleReduction& t) {
  n.kind = t;
  const auto components = static_cast<int>(t.state.size());
  std::vector<int> to(n.reads.size(), -1);
  std::vector<ir::Read> kept;
  for (size_t r = 0; r < n.reads.size(); ++r) {
    if (!ir::is_used(n, static_cast<int>(r))) continue;
    auto found = std::find(kept.begin(), kept.end(), n.reads[r]);
    if (found == kept.end()) found = kept.insert(kept.end(), n.reads[r]);
    to[r] = static_cast<int>(found - kept.begin());
  }
  const auto renumber = [&](auto& self, Scalar& s) -> void {
    if (s.op == ScalarOp::read && s.operand >= components)
      s.operand = components + to[static_cast<size_t>(s.operand - components)];
    for (Scalar& a : s.args) self(self, a);
  };
  for (ir::Component& c : t.state) renumber(renumber, c.step);
  for (Scalar& r : t.results) renumber(renumber, r);
  n.reads = std::move(kept);
  n.kind = std::move(t);
}

// The graph with the pair joined: the results lie along a first dimension.
ir::Graph joined(ir::Graph g, StatisticsPair p) {
  const int first_output = g.nodes[static_cast<size_t>(p.first)].output,
            second_output = p.sum.output, spatial = ir::spatial_count(g, p.sum);
  ir::TupleReduction tuple = p.exponential ? exponential_sums(p) : moments(g, p);
  tuple.axis = 0;
  tuple.over = static_cast<int>(p.sum.axes.size()) - spatial;
  ir::Node n;
  n.name = p.sum.name + ".statistics";
  n.op = p.exponential ? "exp_sums" : "moments";
  n.axes = p.sum.axes;
  n.axes.insert(n.axes.begin(), {"result", 2});
  n.reads = std::move(p.sum.reads);
  for (ir::Read& r : n.reads)
    for (ir::Index& i : r.index) i = ir::substitute(i, [](int a) { return ir::variable(a + 1); });
  drop_unused_reads(n, tuple);
  ir::Tensor t = g.tensors[static_cast<size_t>(second_output)];
  t.name += "_statistics";
  t.dtype = ir::DType::f32;
  t.constant = -1;
  t.shape.insert(t.shape.begin(), 2);
  n.output = static_cast<int>(g.tensors.size());
  g.tensors.push_back(std::move(t));
  for (ir::Node& reader : g.nodes)
    for (ir::Read& r : reader.reads) {
      if (r.tensor != first_output && r.tensor != second_output) continue;
      r.index.insert(r.index.begin(), ir::constant(r.tensor == first_output ? 0 : 1));
      r.tensor = n.output;
    }
  g.nodes[static_cast<size_t>(p.first)] = std::move(n);
  g.nodes.erase(g.nodes.begin() + p.second);
  return drop_unread(std::move(g));
}

// Both reductions, what is between them, and what reads them element by element. `second`: the
// second one's number there.
ir::Graph part_of(const ir::Graph& g, const StatisticsPair& p, int& second) {
  std::vector<bool> inside(g.nodes.size(), false);
  inside[static_cast<size_t>(p.first)] = inside[static_cast<size_t>(p.second)] = true;
  for (size_t n = 0; n < g.nodes.size(); ++n)
    for (const ir::Read& r : g.nodes[n].reads) {
      const int from = ir::producer_of(g, r.tensor);
      if (ir::is_elementwise(g.nodes[n]) && (from == p.first || from == p.second)) inside[n] = true;
    }
  second = static_cast<int>(std::count(inside.begin(), inside.begin() + p.second, true));
  return part_with(g, inside);
}

}  // namespace

ir::Graph join_statistics(ir::Graph g, const FasterGraph& faster) {
  for (int n = 0; n < static_cast<int>(g.nodes.size()); ++n) {
    const std::optional<StatisticsPair> pair = statistics_pair(g, n);
    if (!pair) continue;
    int second = -1;
    const ir::Graph now = part_of(g, *pair, second);
    const std::optional<StatisticsPair> same = statistics_pair(now, second);
    if (!same || !faster(now, fuse_elementwise(joined(now, *same)))) continue;
    n = pair->first;  // what is dropped is behind it
    g = joined(std::move(g), *pair);
  }
  return g;
}

}  // namespace assay::compiler
