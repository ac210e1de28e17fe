// Verdicts on infinities, NaN and denormals, and bounds of results that look rows up.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "toolkit/magnitude.h"
#include "toolkit/verify.h"

namespace assay::toolkit {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const std::vector<std::vector<double>> kNoBound;

int64_t wrong_of(float found, double reference) {
  return compare({{found, 1}}, {{reference, 1}}, kNoBound).wrong;
}

TEST(VerifySpecial, AnInfinityIsRightBesideItself) {
  EXPECT_EQ(wrong_of(kInf, INFINITY), 0);
  EXPECT_EQ(wrong_of(-kInf, -INFINITY), 0);
  EXPECT_EQ(wrong_of(kInf, -INFINITY), 1);
  EXPECT_EQ(wrong_of(kInf, 3e38), 1);
  EXPECT_EQ(wrong_of(3e38F, INFINITY), 1);
  EXPECT_EQ(wrong_of(kInf, NAN), 1);
  EXPECT_EQ(wrong_of(kNaN, INFINITY), 1);
  EXPECT_EQ(wrong_of(kNaN, NAN), 0);
  const Verdict v = compare({{kInf, 1, 2}}, {{INFINITY, 1, 2}}, {{0, 0, 0}});
  EXPECT_TRUE(v.verified);
  EXPECT_EQ(v.max_relative_error, 0);
}

// f32 has no number for them.
TEST(VerifySpecial, AnInfinityIsRightBesideWhatIsTooLarge) {
  EXPECT_EQ(wrong_of(kInf, 3.41e38), 0);
  EXPECT_EQ(wrong_of(-kInf, -1e300), 0);
  EXPECT_EQ(wrong_of(kInf, -1e300), 1);
  EXPECT_EQ(wrong_of(0, 1e300), 1);
}

TEST(VerifySpecial, AnInfiniteReferenceDoesNotHideErrors) {
  const Verdict v = compare({{kInf, 2}}, {{INFINITY, 4}}, kNoBound);
  EXPECT_DOUBLE_EQ(v.max_relative_error, 0.5);
  EXPECT_FALSE(v.verified);
}

// 2^-126 = 1.17549435e-38 is the smallest normal number.
TEST(VerifySpecial, DenormalsCountAsZero) {
  const auto verified = [](float found, double reference) {
    return compare({{found}}, {{reference}}, kNoBound).verified;
  };
  EXPECT_TRUE(verified(0, 1.17e-38));
  EXPECT_TRUE(verified(0, -1e-45));
  EXPECT_TRUE(verified(1e-40F, 1e-40));
  EXPECT_TRUE(verified(1e-40F, 0));
  EXPECT_FALSE(verified(0, 1e-30));
  const Verdict v = compare({{0, 1}}, {{1e-39, 1}}, {{0, 0}});
  EXPECT_EQ(v.wrong, 0);
  EXPECT_EQ(compare({{0, 1}}, {{2e-38, 1}}, {{0, 0}}).wrong, 1) << "a normal number";
}

// y[i] = -x[i]
ir::Graph negation(int64_t n) {
  ir::Graph g;
  g.name = "neg";
  g.tensors = {{"x", ir::DType::f32, {n}, -1}, {"y", ir::DType::f32, {n}, -1}};
  ir::Node node{"neg", "neg", {{"i", n}}, 1, {}, {}, ir::Combiner::none};
  node.reads = {{0, {ir::variable(0)}, false, 0}};
  node.body = ir::apply(ir::ScalarOp::neg, {ir::read(0)});
  g.nodes = {node};
  g.inputs = {0};
  g.outputs = {1};
  return g;
}

// An infinite input says nothing about finite results: their bounds stay.
TEST(VerifySpecial, BoundsSurviveInfiniteInputs) {
  ir::Graph g = negation(3);
  g.nodes[0].combine = ir::Combiner::max;
  g.nodes[0].axes = {{"i", 1}, {"k", 3}};
  g.nodes[0].reads[0].index = {ir::variable(1)};
  g.tensors[1].shape = {1};
  const Values x = {{kInf, -2, 3}};
  EXPECT_TRUE(check_outputs(g, x, {{2}})->verified);
  EXPECT_FALSE(check_outputs(g, x, {{2.5F}})->verified);
  EXPECT_FALSE(check_outputs(g, x, {{kInf}})->verified);
  EXPECT_TRUE(check_outputs(g, {{kNaN, -2, 3}}, {{kNaN}})->verified);
  EXPECT_FALSE(check_outputs(g, {{kNaN, -2, 3}}, {{2}})->verified);
}

// y[i] = table[ids[i]] * 3
ir::Graph lookup(int64_t rows, int64_t n) {
  ir::Graph g;
  g.name = "rows";
  g.tensors = {{"table", ir::DType::f32, {rows}, -1},
               {"ids", ir::DType::i64, {n}, -1},
               {"y", ir::DType::f32, {n}, -1}};
  ir::Node node{"rows", "gather", {{"i", n}}, 2, {}, {}, ir::Combiner::none};
  node.reads = {{0, {ir::constant(0)}, false, 0}, {1, {ir::variable(0)}, false, 0}};
  node.reads[0].lookup = ir::Lookup{0, 1};
  node.body = ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::number(3)});
  g.nodes = {node};
  g.inputs = {0, 1};
  g.outputs = {2};
  return g;
}

// Position -1 is the last row, whose magnitude is 1000. Its absolute value would be row 1.
TEST(VerifySpecial, BoundsAreOfTheRowThatIsLookedUp) {
  const ir::Graph g = lookup(4, 2);
  const auto bound = bounds_of(g, {{0, 1, 10, -1000}, {-1, 2}});
  ASSERT_TRUE(bound.ok());
  const double factor = 4 * 2 * 0x1p-23, floor = 2 * 0x1p-126;
  EXPECT_EQ((*bound)[0], (std::vector<double>{3000 * factor + floor, 30 * factor + floor}));
}

}  // namespace
}  // namespace assay::toolkit
