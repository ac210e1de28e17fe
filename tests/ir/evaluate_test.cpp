#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/ir/graph_samples.h"

namespace assay::ir {
namespace {

using Values = std::vector<std::vector<double>>;

double scalar_at(const Graph& g, const Node& n, const Scalar& s, const std::vector<int64_t>& at,
                 const Values& v) {
  const auto arg = [&](size_t i) { return scalar_at(g, n, s.args[i], at, v); };
  switch (s.op) {
    case ScalarOp::read: {
      const Read& r = n.reads[static_cast<size_t>(s.operand)];
      const auto& shape = g.tensors[static_cast<size_t>(r.tensor)].shape;
      size_t flat = 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        int64_t i = evaluate(r.index[d], at);
        if (r.lookup && r.lookup->dim == static_cast<int>(d)) {
          const double place = scalar_at(g, n, read(r.lookup->read), at, v);
          if (std::isnan(place)) return r.fill;
          i = static_cast<int64_t>(place);
          if (i < 0) i += shape[d];
        }
        if (i < 0 || i >= shape[d]) return r.fill;
        flat = flat * static_cast<size_t>(shape[d]) + static_cast<size_t>(i);
      }
      return v[static_cast<size_t>(r.tensor)][flat];
    }
    case ScalarOp::constant:
      return s.value;
    case ScalarOp::axis:
      return static_cast<double>(at[static_cast<size_t>(s.operand)]);
    case ScalarOp::add:
      return arg(0) + arg(1);
    case ScalarOp::sub:
      return arg(0) - arg(1);
    case ScalarOp::mul:
      return arg(0) * arg(1);
    case ScalarOp::max:
      return std::max(arg(0), arg(1));
    case ScalarOp::exp:
      return std::exp(arg(0));
    case ScalarOp::less:
      return arg(0) < arg(1);
    case ScalarOp::select:
      return arg(0) != 0 ? arg(1) : arg(2);
    default:
      ADD_FAILURE() << "operation not in the naive interpreter";
      return 0;
  }
}

// Every node point by point, by the definition at the top of graph.h.
Values naive(const Graph& g, const std::vector<std::vector<float>>& inputs) {
  Values v(g.tensors.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    v[static_cast<size_t>(g.inputs[i])].assign(inputs[i].begin(), inputs[i].end());
  for (const Node& n : g.nodes) {
    const Tensor& t = g.tensors[static_cast<size_t>(n.output)];
    auto& out = v[static_cast<size_t>(n.output)];
    out.assign(static_cast<size_t>(elements(t)), identity_of(n.combine));
    std::vector<int64_t> at(n.axes.size(), 0);
    const std::function<void(size_t)> walk = [&](size_t axis) {
      if (axis < n.axes.size()) {
        for (at[axis] = 0; at[axis] < n.axes[axis].extent; ++at[axis]) walk(axis + 1);
        return;
      }
      size_t flat = 0;
      for (size_t d = 0; d < t.shape.size(); ++d)
        flat = flat * static_cast<size_t>(t.shape[d]) + static_cast<size_t>(at[d]);
      const double value = scalar_at(g, n, n.body, at, v);
      if (n.combine == Combiner::none) out[flat] = value;
      if (n.combine == Combiner::sum) out[flat] += value;
      if (n.combine == Combiner::max) out[flat] = std::max(out[flat], value);
    };
    walk(0);
  }
  return v;
}

void expect_like_naive(const Graph& g) {
  const auto inputs = samples::inputs_for(g);
  const auto got = evaluate(g, inputs);
  ASSERT_TRUE(got.ok()) << render(got.diags());
  const Values want = naive(g, inputs);
  for (size_t t = 0; t < want.size(); ++t) {
    ASSERT_EQ(got.value()[t].size(), want[t].size());
    for (size_t i = 0; i < want[t].size(); ++i)
      ASSERT_NEAR(got.value()[t][i], want[t][i], 1e-11) << g.name << " " << i;
  }
}

TEST(Evaluate, MatmulsOfOddShapes) {
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{1, 1, 1}, {7, 5, 3}, {1, 17, 300}, {31, 1, 2}, {2, 300, 7}})
    expect_like_naive(samples::matmul(m, n, k));
}

TEST(Evaluate, ConvolutionsWithGuards) {
  for (samples::ConvShape c : {samples::ConvShape{3, 5, 11, 7, 2, 3},
                               {1, 1, 1, 3, 1, 1},
                               {4, 2, 9, 3, 1, 1},
                               {2, 3, 5, 1, 2, 0},
                               {2, 3, 2, 5, 1, 4}})
    expect_like_naive(samples::conv(c));
}

// y[i, j] = table[ids[i], j] - table[j, ids[i]]
TEST(Evaluate, LookupsCountFromTheEndAndMiss) {
  Graph g;
  const int table = samples::add_tensor(g, "table", {4, 3}),
            ids = samples::add_tensor(g, "ids", {9}), y = samples::add_tensor(g, "y", {9, 3});
  Node n{"n", "gather", {{"i", 9}, {"j", 3}}, y, {}, {}, Combiner::none};
  n.reads = {{table, {constant(0), variable(1)}, false, 0.5},
             {ids, {variable(0)}, false, 0},
             {table, {variable(1), constant(0)}, false, 0}};
  n.reads[0].lookup = Lookup{0, 1};
  n.reads[2].index[1] = constant(0);
  n.reads[2].lookup = Lookup{1, 1};
  n.body = apply(ScalarOp::sub, {read(0), read(2)});
  g.nodes = {n};
  g.inputs = {table, ids};
  g.outputs = {y};
  ASSERT_EQ(render(verify(g)), "");
  const std::vector<std::vector<float>> inputs = {{0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32},
                                                  {0, 2, -1, -4, 4, -5, NAN, INFINITY, 1}};
  const auto got = evaluate(g, inputs);
  ASSERT_TRUE(got.ok());
  const Values want = naive(g, inputs);
  EXPECT_EQ(got.value()[static_cast<size_t>(y)], want[static_cast<size_t>(y)]);
  const double miss = got.value()[static_cast<size_t>(y)][4 * 3];
  EXPECT_EQ(miss, 0.5) << "the first table has 4 rows, the second 3 columns";
}

TEST(Evaluate, ReadsThatDivideFlipAndMiss) {
  Graph g;
  const int x = samples::add_tensor(g, "x", {6, 5}), y = samples::add_tensor(g, "y", {3, 4});
  Node n{"n", "odd", {{"i", 3}, {"j", 4}, {"k", 5}}, y, {}, {}, Combiner::max};
  Term half;  // (i + j) / 2
  half.var = -1;
  half.of = {variable(0) + variable(1)};
  half.div = 2;
  n.reads = {{x, {Index{{half}, 0}, variable(2)}, false, 0},
             {x, {variable(0, -2) + 5, variable(1, -1) + variable(2) + 1}, true, 0.25},
             {x, {variable(0) + 9, variable(1)}, true, -3}};
  n.body =
      apply(ScalarOp::select, {apply(ScalarOp::less, {read(0), read(1)}),
                               apply(ScalarOp::add, {apply(ScalarOp::exp, {read(1)}), read(2)}),
                               apply(ScalarOp::axis, {})});
  n.body.args[2].operand = 2;
  g.nodes = {n};
  g.inputs = {x};
  g.outputs = {y};
  expect_like_naive(g);
}

// Grouped: the channel is o / 3 * 2 + c, affine along every axis but o.
TEST(Evaluate, ReadsThatAreAffineAlongRuns) {
  Graph g = samples::conv({2, 6, 9, 3, 2, 1});
  g.tensors[0].shape = {1, 4, 9, 9};
  g.nodes[0].reads[0].index[1] = Index{{Term{2, 1, {}, 3, 0}, Term{1, 4, {}, 1, 0}}, 0};
  expect_like_naive(g);
  g.nodes[0].body = apply(ScalarOp::max, {read(0), read(1)});
  g.nodes[0].reads[0].fill = 0.5;
  expect_like_naive(g);
}

TEST(Evaluate, AScalarOutputIsOnePoint) {
  Graph g;
  const int x = samples::add_tensor(g, "x", {}), y = samples::add_tensor(g, "y", {}),
            s = samples::add_tensor(g, "s", {});
  g.nodes = {{"twice",
              "add",
              {},
              y,
              {{x, {}, false, 0}},
              apply(ScalarOp::add, {read(0), read(0)}),
              Combiner::none},
             {"sum", "sum", {{"k", 700}}, s, {{y, {}, false, 0}}, read(0), Combiner::sum}};
  g.inputs = {x};
  g.outputs = {s};
  expect_like_naive(g);
}

TEST(Evaluate, WrongInputsAreErrors) {
  const Graph g = samples::matmul(2, 3, 4);
  EXPECT_FALSE(evaluate(g, {}).ok());
  auto inputs = samples::inputs_for(g);
  inputs[1].pop_back();
  const auto result = evaluate(g, inputs);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(render(result.diags()), "error: input b has 11 elements, 12 are needed\n");
}

}  // namespace
}  // namespace assay::ir
