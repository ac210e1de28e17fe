// The rooflines beside which the model is judged, against figures by hand.
#include "toolkit/roofline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/compile.h"

namespace assay::test {
namespace {

toolkit::Work work(const std::string& op) {
  const auto g = compiler::parse_operator(op);
  EXPECT_TRUE(g) << render(g.diags());
  return g ? toolkit::work_of(*g) : toolkit::Work{};
}

TEST(Roofline, TheSlowerOfBothAndALaunch) {
  EXPECT_DOUBLE_EQ(toolkit::roofline({3, 2, 1}), 3);
  EXPECT_DOUBLE_EQ(toolkit::roofline({2, 3, 1}), 3);
  EXPECT_DOUBLE_EQ(toolkit::roofline({3, 2, 1}, {1, 0.5, 0.25}), 4.25);
  EXPECT_DOUBLE_EQ(toolkit::roofline({3, 2, 1}, {0.5, 0.5, 0.25}), 6.25);
}

TEST(Roofline, WorkOfProducts) {
  EXPECT_EQ(work("matmul m=10 n=20 k=30").flops, 2 * 6000);
  EXPECT_EQ(work("matmul m=10 n=20 k=30").bytes, 4 * (300 + 600 + 200));
  EXPECT_EQ(work("matmul b=4 m=10 n=20 k=30").flops, 2 * 24000);
  EXPECT_EQ(work("matmul b=4 m=10 n=20 k=30").bytes, 16 * (300 + 600 + 200));
  EXPECT_EQ(work("matmul m=10 n=20 k=30 type=bf16").flops, 2 * 6000);
  EXPECT_EQ(work("matmul m=10 n=20 k=30 type=bf16").bytes, 2 * (300 + 600 + 200));
  // 16 filters of 8 x 3 x 3 over 10 x 10, weights read once.
  EXPECT_EQ(work("conv c=8 h=10 w=10 o=16 r=3 s=3").flops, 2 * 16 * 100 * 72);
  EXPECT_EQ(work("conv c=8 h=10 w=10 o=16 r=3 s=3").bytes, 4 * (800 + 1152 + 1600));
}

// What passes between the nodes of an operator is not moved.
TEST(Roofline, WorkOfRowsAndElements) {
  EXPECT_EQ(work("softmax rows=5 columns=7").bytes, 4 * (35 + 35));
  EXPECT_EQ(work("layer_norm rows=5 columns=7").bytes, 4 * (35 + 7 + 7 + 35));
  EXPECT_EQ(work("rms_norm rows=5 columns=7").bytes, 4 * (35 + 7 + 35));
  EXPECT_EQ(work("reduce_sum rows=5 columns=7").bytes, 4 * (35 + 5));
  EXPECT_EQ(work("add n=100").bytes, 1200);
  EXPECT_EQ(work("add n=100").flops, 100);
  EXPECT_EQ(work("add_scalar n=100").bytes, 800);
  EXPECT_EQ(work("gelu n=100").bytes, 800);
}

// One operand, read twice, is moved once.
TEST(Roofline, AnInputWithTwoReadersIsReadOnce) {
  EXPECT_EQ(work("silu n=100 type=f16").bytes, 400);
  EXPECT_EQ(work("gelu n=100 type=f16").bytes, 400);
}

// 4096^3 on a V100's 14.13 TFLOP/s and 898 GB/s: 137.4 GFLOP and 201 MB.
TEST(Roofline, SecondsOfWork) {
  const auto in =
      toolkit::roofline_input(work("matmul m=4096 n=4096 k=4096"), 14.13e12, 898e9, 0.01);
  EXPECT_NEAR(in.compute, 9.7267e-3, 1e-6);
  EXPECT_NEAR(in.movement, 0.22420e-3, 1e-7);
  EXPECT_EQ(in.measured, 0.01);
  EXPECT_EQ(toolkit::roofline_input({100, 100}, 0, 50, 1).compute, 0) << "no rate is known";
}

// Times of a chip that reaches 0.83 of its peak and 0.61 of its bandwidth, in launches of 1.2^3 us.
TEST(Roofline, ItsConstantsAreFound) {
  std::vector<toolkit::RooflineInput> rows;
  for (int i = 1; i <= 40; ++i) {
    const double compute = 1e-6 * i * i, movement = 1e-6 * (50 - i);
    rows.push_back({compute, movement, std::max(compute / 0.83, movement / 0.61) + 1.728e-6});
  }
  const toolkit::RooflineConstants c = toolkit::fit_roofline(rows);
  EXPECT_NEAR(c.compute, 0.83, 1e-9);
  EXPECT_NEAR(c.movement, 0.61, 1e-9);
  EXPECT_NEAR(c.launch, 1.728e-6, 1e-12);
}

// No constants within reach fit better, whatever the rows: here those of a chip with two slopes.
TEST(Roofline, NoOtherConstantsFitBetter) {
  std::vector<toolkit::RooflineInput> rows;
  for (int i = 1; i <= 30; ++i) {
    const double compute = 1e-5 * i, movement = 2e-5 * ((i * 7) % 11 + 1);
    rows.push_back({compute, movement, (compute + movement) * (i % 3 == 0 ? 1.5 : 1.2) + 9e-6});
  }
  const auto error = [&](const toolkit::RooflineConstants& c) {
    double sum = 0;
    for (const auto& r : rows) sum += std::abs(toolkit::roofline(r, c) / r.measured - 1);
    return sum;
  };
  const double found = error(toolkit::fit_roofline(rows));
  for (int compute = 30; compute <= 100; compute += 7)
    for (int movement = 30; movement <= 100; movement += 7)
      for (const double launch : {0.0, 1e-6, 1.2e-6, 1.44e-6})
        EXPECT_GE(error({compute / 100.0, movement / 100.0, launch}), found - 1e-12);
}

TEST(Roofline, RowsBeyondThoseThatDecideAreTakenEvenly) {
  std::vector<toolkit::RooflineInput> rows;
  for (int i = 0; i < 5001; ++i) {  // of the last third, another truth
    const double part = i < 3300 ? 0.9 : 0.5;
    rows.push_back({1e-3, 1e-6, 1e-3 / part});
  }
  EXPECT_NEAR(toolkit::fit_roofline(rows).compute, 0.9, 1e-9);
  EXPECT_EQ(toolkit::fit_roofline({}).compute, 1);
}

}  // namespace
}  // namespace assay::test
