// Verdicts on results that are stored in f16 and bf16: their rounding is right, more is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "toolkit/run.h"
#include "toolkit/verify.h"

namespace assay::toolkit {
namespace {

// c[m] = sum(k) a[m, k] b[k], all of one type.
ir::Graph product(ir::DType type, int64_t m, int64_t k) {
  ir::Graph g;
  g.name = "product";
  g.tensors = {{"a", type, {m, k}, -1}, {"b", type, {k}, -1}, {"c", type, {m}, -1}};
  ir::Node n{"product", "matmul", {{"m", m}, {"k", k}}, 2, {}, {}, ir::Combiner::sum};
  n.reads = {{0, {ir::variable(0), ir::variable(1)}, false, 0}, {1, {ir::variable(1)}, false, 0}};
  n.body = ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)});
  g.nodes = {n};
  g.inputs = {0, 1};
  g.outputs = {2};
  return g;
}

// 4 terms and a multiplication: K = 5. sum |a||b| = 1 + 2 + 3 + 4.
TEST(VerifyTyped, TheBoundAddsTheRoundingOfTheStore) {
  const Values inputs = {{1, -2, 3, 4}, {1, 1, 1, 1}};
  const auto of = [&](ir::DType t) { return (*bounds_of(product(t, 1, 4), inputs))[0][0]; };
  const double f32 = 4 * 5 * 0x1p-23 * 10 + 5 * 0x1p-126;
  EXPECT_DOUBLE_EQ(of(ir::DType::f32), f32);
  EXPECT_DOUBLE_EQ(of(ir::DType::f16), f32 + 10 * 0x1p-11 + 0x1p-25);
  EXPECT_DOUBLE_EQ(of(ir::DType::bf16), f32 + 10 * 0x1p-8 + 0x1p-134);
  EXPECT_DOUBLE_EQ(of(ir::DType::f8e4m3), f32 + 10 * 0x1p-4 + 0x1p-10);
  EXPECT_DOUBLE_EQ(of(ir::DType::f8e5m2), f32 + 10 * 0x1p-3 + 0x1p-17);
}

TEST(VerifyTyped, TheNearestNumberIsRightAndTheOneAfterItWrong) {
  const ir::Graph g = product(ir::DType::f16, 1, 2);
  const Values inputs = {{1, 0.0009765625F / 4}, {1, 1}};  // 1 + a quarter of 1's last place
  EXPECT_EQ(check_outputs(g, inputs, {{1}})->wrong, 0);
  EXPECT_EQ(check_outputs(g, inputs, {{1 + 2 * 0.0009765625F}})->wrong, 1);
}

// 65520 lies in the middle between the largest number of f16 and the next one there would be.
TEST(VerifyTyped, WhatTheTypeCanNotHoldIsInfinite) {
  const ir::Graph g = product(ir::DType::f16, 1, 1);
  const Values inputs = {{65504}, {2}};
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(check_outputs(g, inputs, {{inf}})->wrong, 0);
  EXPECT_EQ(check_outputs(g, inputs, {{-inf}})->wrong, 1);
  EXPECT_EQ(check_outputs(g, inputs, {{65504}})->wrong, 1);
}

TEST(VerifyTyped, FloatsOf8BitsSaturate) {
  const ir::Graph g = product(ir::DType::f8e4m3, 1, 1);
  const Values inputs = {{448}, {2}};
  EXPECT_EQ(check_outputs(g, inputs, {{448}})->wrong, 0);
  EXPECT_EQ(check_outputs(g, inputs, {{-448}})->wrong, 1);
  EXPECT_EQ(check_outputs(g, inputs, {{240}})->wrong, 1);
}

TEST(VerifyTyped, InputsAreNumbersOfTheirType) {
  const Values half = generate_inputs(product(ir::DType::f16, 7, 11), 3),
               brain = generate_inputs(product(ir::DType::bf16, 7, 11), 3);
  for (const float v : half[0])
    EXPECT_EQ(std::ldexp(v, 24), std::round(std::ldexp(v, 24))) << v;  // multiples of 2^-24
  for (const float v : brain[0]) {
    int exponent = 0;
    const float fraction = std::frexp(v, &exponent);  // 8 bits
    EXPECT_EQ(fraction * 256, std::round(fraction * 256)) << v;
  }
}

TEST(VerifyTyped, AWholeModelMayErrBySixteenRoundings) {
  EXPECT_EQ(whole_model_limit(product(ir::DType::f32, 1, 1)), 1e-3);
  EXPECT_EQ(whole_model_limit(product(ir::DType::f16, 1, 1)), 16.0 / 2048);
  EXPECT_EQ(whole_model_limit(product(ir::DType::bf16, 1, 1)), 16.0 / 256);
}

}  // namespace
}  // namespace assay::toolkit
