// Verdicts on results: exact bounds for sums of products.
#include "toolkit/verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "toolkit/magnitude.h"

namespace assay::toolkit {
namespace {

// c[m] = sum(k) a[m, k] - b[k] * a[m, k]
ir::Graph dot(int64_t m, int64_t k) {
  ir::Graph g;
  g.name = "dot";
  g.tensors = {{"a", ir::DType::f32, {m, k}, -1},
               {"b", ir::DType::f32, {k}, -1},
               {"c", ir::DType::f32, {m}, -1}};
  ir::Node n{"dot", "matmul", {{"m", m}, {"k", k}}, 2, {}, {}, ir::Combiner::sum};
  n.reads = {{0, {ir::variable(0), ir::variable(1)}, false, 0}, {1, {ir::variable(1)}, false, 0}};
  n.body = ir::apply(ir::ScalarOp::sub,
                     {ir::read(0), ir::apply(ir::ScalarOp::mul, {ir::read(1), ir::read(0)})});
  g.nodes = {n};
  g.inputs = {0, 1};
  g.outputs = {2};
  return g;
}

TEST(Magnitude, SubtractionAddsUp) {
  const ir::Graph g = dot(1, 2);
  const auto m = magnitude_graph(g);
  ASSERT_TRUE(m.has_value());
  const auto values = ir::evaluate(*m, std::vector<std::vector<float>>{{1, 2}, {3, 4}});
  EXPECT_EQ((*values)[2], std::vector<double>{1 + 3 + 2 + 8});
  EXPECT_EQ(terms_of(g), 2 + 2);
}

TEST(Magnitude, NoRuleNoBound) {
  ir::Graph g = dot(1, 2);
  g.nodes[0].body = ir::apply(ir::ScalarOp::exp, {ir::read(0)});
  EXPECT_FALSE(magnitude_graph(g).has_value());
}

TEST(Verify, RoundingIsRightAndMoreIsWrong) {
  const ir::Graph g = dot(3, 100);
  const Values inputs = generate_inputs(g, 7);
  const auto reference = ir::evaluate(g, inputs);
  Values found = {{}};
  for (double v : (*reference)[2]) found[0].push_back(static_cast<float>(v));
  const auto right = check_outputs(g, inputs, found);
  ASSERT_TRUE(right.ok());
  EXPECT_TRUE(right->verified && right->bounded);
  EXPECT_EQ(right->wrong, 0);
  found[0][1] += 0.02F;
  const auto wrong = check_outputs(g, inputs, found);
  EXPECT_FALSE(wrong->verified);
  EXPECT_EQ(wrong->wrong, 1);
}

TEST(Verify, NotANumberIsWrong) {
  const Verdict v = compare({{std::nanf(""), 1}}, {{0, 1}}, {});
  EXPECT_FALSE(v.verified);
  EXPECT_EQ(v.wrong, 1);
  EXPECT_TRUE(std::isinf(v.max_relative_error));
}

TEST(Verify, AnUndefinedReferenceNeedsNaN) {
  const double none = std::nan("");
  EXPECT_EQ(compare({{std::nanf(""), 1}}, {{none, 1}}, {}).wrong, 0);
  EXPECT_DOUBLE_EQ(compare({{std::nanf(""), 1}}, {{none, 2}}, {}).max_relative_error, 0.5);
  EXPECT_EQ(compare({{0, 1}}, {{none, 1}}, {}).wrong, 1);
}

TEST(Verify, RelativeErrorIsPerTensor) {
  EXPECT_DOUBLE_EQ(compare({{1, 2}, {101}}, {{1, 4}, {100}}, {}).max_relative_error, 0.5);
}

TEST(Times, QuartilesInterpolate) { EXPECT_EQ(times_of({4, 1, 3, 2}), (Times{2.5, 1.75, 3.25})); }

}  // namespace
}  // namespace assay::toolkit
