// Verdicts on whole numbers: sums in i32 are exact; a rounded value may be the next step where the
// exact one lies near the tie between both.
#include <gtest/gtest.h>

#include <cmath>

#include "toolkit/run.h"
#include "toolkit/verify.h"

namespace assay::toolkit {
namespace {

using D = ir::DType;

// c = sum(k) a[k] b[k], then out = round(c * 0.25) + 3 as u8, if `scales`.
ir::Graph product(int64_t k, bool scales) {
  ir::Graph g;
  g.name = "product";
  g.tensors = {{"a", D::i8, {1, k}, -1}, {"b", D::u8, {k}, -1}, {"c", D::i32, {1}, -1}};
  ir::Node n{"product", "matmul", {{"m", 1}, {"k", k}}, 2, {}, {}, ir::Combiner::sum};
  n.reads = {{0, {ir::variable(0), ir::variable(1)}, false, 0}, {1, {ir::variable(1)}, false, 0}};
  n.body = ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)});
  g.nodes = {n};
  g.inputs = {0, 1};
  g.outputs = {2};
  if (!scales) return g;
  g.tensors.push_back({"out", D::u8, {1}, -1});
  ir::Node q{"scale", "quantise", {{"m", 1}}, 3, {}, {}, ir::Combiner::none};
  q.reads = {{2, {ir::variable(0)}, false, 0}};
  q.body = ir::apply(ir::ScalarOp::add,
                     {ir::apply(ir::ScalarOp::round,
                                {ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::number(0.25)})}),
                      ir::number(3)});
  g.nodes.push_back(q);
  g.outputs = {3};
  return g;
}

double bound(const ir::Graph& g, const Values& inputs) { return (*bounds_of(g, inputs))[0][0]; }

TEST(VerifyWhole, SumsInI32AreExact) {
  const ir::Graph g = product(3, false);
  const Values inputs = {{-128, 127, 5}, {255, 255, 1}};
  EXPECT_EQ(bound(g, inputs), 0);
  EXPECT_EQ(check_outputs(g, inputs, {{-250}})->wrong, 0);
  EXPECT_EQ(check_outputs(g, inputs, {{-249}})->wrong, 1);
}

TEST(VerifyWhole, OneStepIsRightNearATie) {
  const ir::Graph g = product(1, true);
  EXPECT_EQ(bound(g, {{10}, {1}}), 1);     // 2.5: 2 or 3
  EXPECT_EQ(bound(g, {{11}, {1}}), 0);     // 2.75: 3
  EXPECT_EQ(bound(g, {{127}, {255}}), 0);  // far beyond what u8 holds
}

TEST(VerifyWhole, InputsAreOfTheWholeRange) {
  const Values all = generate_inputs(product(4001, false), 5);
  float low = 0, high = 0;
  for (const float v : all[0]) low = std::min(low, v), high = std::max(high, v);
  EXPECT_EQ(low, -128);
  EXPECT_EQ(high, 127);
  for (const float v : all[1]) EXPECT_EQ(v, std::abs(std::round(v)));
}

TEST(VerifyWhole, AModelWithRoundedValuesInsideMayErrBySteps) {
  EXPECT_EQ(whole_model_limit(product(4, false)), 1e-3);
  EXPECT_EQ(whole_model_limit(product(4, true)), 16.0 / 256);
}

}  // namespace
}  // namespace assay::toolkit
