#include "compiler/passes/find_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/passes/rewrite.h"
#include "ir/computed_type.h"

namespace assay::compiler {

namespace {

using ir::Scalar;
using ir::ScalarOp;

constexpr int64_t kLongest = 1 << 16;  // of a row whose moments are joined
constexpr int kBetween = 3;            // elementwise nodes between the reductions

bool is_reduction(const ir::Graph& g, int n) {
  return n >= 0 && ir::is_expression(g.nodes[static_cast<size_t>(n)]) &&
         g.nodes[static_cast<size_t>(n)].combine != ir::Combiner::none;
}

struct Scaled {  // factor * core
  Scalar core;
  double factor = 1;
};

Scaled without_factors(const Scalar& s) {
  const auto is_number = [](const Scalar& a) { return a.op == ScalarOp::constant; };
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (s.op != ScalarOp::mul && (s.op != ScalarOp::div || i == 0)) continue;
    if (!is_number(s.args[i])) continue;
    Scaled out = without_factors(s.args[1 - i]);
    out.factor *= s.op == ScalarOp::mul ? s.args[i].value : 1 / s.args[i].value;
    return out;
  }
  return {s, 1};
}

// Axes of extent 1 have one value.
ir::Index plain(const ir::Node& n, const ir::Index& i) {
  return ir::simplify(ir::substitute(i,
                                     [&](int a) {
                                       return n.axes[static_cast<size_t>(a)].extent == 1
                                                  ? ir::constant(0)
                                                  : ir::variable(a);
                                     }),
                      ir::ranges_of(n));
}

// Do the trees of nodes with equal axes have the same value at each point?
bool same_value_at_each(const ir::Node& n, const Scalar& a, const ir::Node& m, const Scalar& b) {
  std::vector<int> to(n.axes.size());
  std::iota(to.begin(), to.end(), 0);
  return same_value(n, a, m, b, to);
}

bool reads_tensor(const ir::Node& n, const Scalar& s, int tensor) {
  if (s.op == ScalarOp::read) return n.reads[static_cast<size_t>(s.operand)].tensor == tensor;
  return std::any_of(s.args.begin(), s.args.end(),
                     [&](const Scalar& a) { return reads_tensor(n, a, tensor); });
}

// Does an elementwise node read a reduction, or another one that does?
bool follows_reduction(const ir::Graph& g, const ir::Node& n, int depth) {
  return depth > 0 && std::any_of(n.reads.begin(), n.reads.end(), [&](const ir::Read& r) {
           const int p = ir::producer_of(g, r.tensor);
           return is_reduction(g, p) ||
                  (p >= 0 && ir::is_elementwise(g.nodes[static_cast<size_t>(p)]) &&
                   follows_reduction(g, g.nodes[static_cast<size_t>(p)], depth - 1));
         });
}

// The reduction with the elementwise nodes between it and another one inlined.
ir::Node with_what_is_between(const ir::Graph& g, ir::Node n) {
  for (int i = 0; i < kBetween; ++i) {
    const auto between = std::find_if(n.reads.begin(), n.reads.end(), [&](const ir::Read& r) {
      const int p = ir::producer_of(g, r.tensor);
      return p >= 0 && ir::is_elementwise(g.nodes[static_cast<size_t>(p)]) &&
             ir::keeps_value(g, g.nodes[static_cast<size_t>(p)]) &&
             follows_reduction(g, g.nodes[static_cast<size_t>(p)], kBetween);
    });
    if (between == n.reads.end()) return n;
    auto with = inlined(n, g.nodes[static_cast<size_t>(ir::producer_of(g, between->tensor))]);
    if (!with) return n;
    n = std::move(*with);
  }
  return n;
}

// The node whose result `s` is, read at the same position of the output; -1: none.
int reduction_read(const ir::Graph& g, const ir::Node& n, const Scalar& s) {
  if (s.op != ScalarOp::read) return -1;
  const ir::Read& r = n.reads[static_cast<size_t>(s.operand)];
  const int p = ir::producer_of(g, r.tensor);
  if (!is_reduction(g, p) || r.guarded || r.lookup) return -1;
  const ir::Node& first = g.nodes[static_cast<size_t>(p)];
  if (first.axes.size() != n.axes.size() || ir::spatial_count(g, first) != ir::spatial_count(g, n))
    return -1;
  for (size_t a = 0; a < n.axes.size(); ++a)
    if (n.axes[a].extent != first.axes[a].extent) return -1;
  for (size_t d = 0; d < r.index.size(); ++d)
    if (plain(n, r.index[d]) != plain(n, ir::variable(static_cast<int>(d)))) return -1;
  return p;
}

bool is_mean(const ir::Graph& g, const ir::Node& n, double factor) {
  return n.combine == ir::Combiner::sum &&
         std::abs(factor * terms_of(g, n) - 1) < static_cast<double>(1e-6F);
}

// f - m in either order, for a reduction m.
std::optional<StatisticsPair> difference_of(const ir::Graph& g, const ir::Node& n, const Scalar& s,
                                            bool either) {
  if (s.op != ScalarOp::sub) return std::nullopt;
  for (const size_t i : {size_t{1}, size_t{0}}) {
    if (i == 0 && !either) break;
    if (const int first = reduction_read(g, n, s.args[i]); first >= 0)
      return StatisticsPair{first, -1, n, s.args[1 - i]};
  }
  return std::nullopt;
}

std::optional<StatisticsPair> squares_of(const ir::Graph& g, const ir::Node& n, const Scalar& s) {
  const bool square =
      (s.op == ScalarOp::mul && s.args[0] == s.args[1]) ||
      (s.op == ScalarOp::pow && s.args[1].op == ScalarOp::constant && s.args[1].value == 2);
  std::optional<StatisticsPair> out = square ? difference_of(g, n, s.args[0], true) : std::nullopt;
  if (!out || terms_of(g, n) > static_cast<double>(kLongest)) return std::nullopt;
  const ir::Node& first = g.nodes[static_cast<size_t>(out->first)];
  const Scaled mean = without_factors(first.body);
  if (!is_mean(g, first, mean.factor) || !same_value_at_each(n, out->f, first, mean.core))
    return std::nullopt;
  return out;
}

std::optional<StatisticsPair> exponentials_of(const ir::Graph& g, const ir::Node& n,
                                              const Scalar& s) {
  if (s.op != ScalarOp::exp) return std::nullopt;
  std::optional<StatisticsPair> out = difference_of(g, n, s.args[0], false);
  if (!out) return std::nullopt;
  const ir::Node& first = g.nodes[static_cast<size_t>(out->first)];
  if (first.combine != ir::Combiner::max || !same_value_at_each(n, out->f, first, first.body))
    return std::nullopt;
  out->exponential = true;
  return out;
}

// Both results are read by expressions at positions that they know, and by nothing else.
bool is_inner(const ir::Graph& g, int tensor) {
  if (is_output(g, tensor)) return false;
  for (const int n : ir::consumers_of(g, tensor)) {
    const ir::Node& reader = g.nodes[static_cast<size_t>(n)];
    if (!ir::is_expression(reader) || is_product(reader)) return false;
    for (const ir::Read& r : reader.reads)
      if (r.lookup && (r.tensor == tensor ||
                       reader.reads[static_cast<size_t>(r.lookup->read)].tensor == tensor))
        return false;
  }
  return true;
}

}  // namespace

double terms_of(const ir::Graph& g, const ir::Node& n) {
  double out = 1;
  for (int a = ir::spatial_count(g, n); a < static_cast<int>(n.axes.size()); ++a)
    out *= static_cast<double>(n.axes[static_cast<size_t>(a)].extent);
  return out;
}

std::optional<StatisticsPair> statistics_pair(const ir::Graph& g, int second) {
  if (!is_reduction(g, second) || g.nodes[static_cast<size_t>(second)].combine != ir::Combiner::sum)
    return std::nullopt;
  const ir::Node n = with_what_is_between(g, g.nodes[static_cast<size_t>(second)]);
  const Scaled scaled = without_factors(n.body);
  std::optional<StatisticsPair> out = exponentials_of(g, n, scaled.core);
  if (!out) out = squares_of(g, n, scaled.core);
  if (!out) return std::nullopt;
  const ir::Node& first = g.nodes[static_cast<size_t>(out->first)];
  if (reads_tensor(n, out->f, first.output) || !is_inner(g, first.output) ||
      !is_inner(g, n.output) || ir::computed_in(g, first) != ir::DType::f32 ||
      ir::computed_in(g, n) != ir::DType::f32)
    return std::nullopt;
  out->second = second;
  out->factor = scaled.factor;
  return out;
}

}  // namespace assay::compiler
