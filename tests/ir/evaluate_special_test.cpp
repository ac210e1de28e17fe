// NaN and infinities in the float64 reference: max and min let NaN through, in either operand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ir/graph_samples.h"

namespace assay::ir {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Of one node over a[rows, columns] (and b of the same shape): its output.
std::vector<double> evaluated(Node n, int64_t rows, int64_t columns,
                              const std::vector<std::vector<float>>& inputs) {
  Graph g;
  for (size_t i = 0; i < inputs.size(); ++i) {
    g.inputs.push_back(samples::add_tensor(g, i == 0 ? "a" : "b", {rows, columns}));
    n.reads.push_back({g.inputs.back(), {variable(0), variable(1)}, false, 0});
  }
  const bool reduces = n.combine != Combiner::none;
  n.axes = {{"i", rows}, {"j", columns}};
  n.output = samples::add_tensor(
      g, "y", reduces ? std::vector<int64_t>{rows} : std::vector<int64_t>{rows, columns});
  g.nodes = {n};
  g.outputs = {n.output};
  EXPECT_EQ(render(verify(g)), "");
  const auto all = evaluate(g, inputs);
  EXPECT_TRUE(all.ok()) << render(all.diags());
  return all.ok() ? (*all)[static_cast<size_t>(n.output)] : std::vector<double>();
}

void expect_same(const std::vector<double>& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    if (std::isnan(wanted[i]))
      EXPECT_TRUE(std::isnan(found[i])) << i << ": " << found[i];
    else
      EXPECT_EQ(found[i], wanted[i]) << i;
}

TEST(EvaluateSpecial, EitherOperandOfMaxAndMinMayBeNaN) {
  const std::vector<float> a = {kNaN, 1, kNaN, kInf, -kInf, 2}, b = {1, kNaN, kNaN, 3, 3, -kInf};
  Node n{"n", "max", {}, -1, {}, apply(ScalarOp::max, {read(0), read(1)}), Combiner::none};
  expect_same(evaluated(n, 1, 6, {a, b}), {NAN, NAN, NAN, INFINITY, 3, 2});
  n.body = apply(ScalarOp::min, {read(0), read(1)});
  expect_same(evaluated(n, 1, 6, {a, b}), {NAN, NAN, NAN, 3, -INFINITY, -INFINITY});
}

TEST(EvaluateSpecial, AReductionKeepsANaNFromAnyPlace) {
  const std::vector<float> a = {kNaN, 1, 2, 3, kNaN, 1, 2, 3, kNaN, 2, -kInf, kInf};
  Node n{"n", "max", {}, -1, {}, read(0), Combiner::max};
  expect_same(evaluated(n, 4, 3, {a}), {NAN, NAN, NAN, INFINITY});
  n.combine = Combiner::min;
  expect_same(evaluated(n, 4, 3, {a}), {NAN, NAN, NAN, -INFINITY});
}

}  // namespace
}  // namespace assay::ir
