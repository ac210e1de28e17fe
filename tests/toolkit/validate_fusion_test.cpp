// Chains of operators, and the figures of a validation of fusion, worked out by hand.
#include "toolkit/validate_fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "toolkit/chains.h"

namespace assay::toolkit {
namespace {

using testing::HasSubstr;

TEST(Chains, AProductsSumsOfRowsAreThoseOfItsValues) {
  const Result<ir::Graph> g = chain_of("matmul m=3 n=5 k=2 | reduce_sum rows=3 columns=5");
  ASSERT_TRUE(g) << render(g.diags());
  ASSERT_EQ(g->inputs.size(), 2U);
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 2, 0, 3, 0, 1, 0, 2, 0};
  const auto all = ir::evaluate(*g, std::vector<std::vector<float>>{a, b});
  ASSERT_TRUE(all) << render(all.diags());
  std::vector<double> sums;
  for (int i = 0; i < 3; ++i) {
    double sum = 0;
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 2; ++k)
        sum += a[static_cast<size_t>(2 * i + k)] * b[static_cast<size_t>(5 * k + j)];
    sums.push_back(sum);
  }
  EXPECT_EQ((*all)[static_cast<size_t>(g->outputs[0])], sums);
}

TEST(Chains, WhatDoesNotFitIsRefused) {
  const auto fault = [](const char* text) { return render(chain_of(text).diags()); };
  EXPECT_THAT(fault("matmul m=3 n=5 k=2 | softmax rows=3 columns=4"),
              HasSubstr("matmul makes f32 3x5, and softmax_max reads f32 3x4"));
  EXPECT_THAT(fault("matmul m=3 n=5 k=2 | banana n=4"), HasSubstr("unknown operator 'banana'"));
  EXPECT_THAT(fault(""), HasSubstr("unknown operator ''"));
  EXPECT_THAT(fault("relu n=3 |"), HasSubstr("unknown operator ''"));
}

TEST(Chains, DrawnOnesAreDistinctGraphsOfSeveralNodes) {
  const std::vector<std::string> chains = draw_chains(200, 7);
  EXPECT_EQ(chains, draw_chains(200, 7));
  EXPECT_NE(chains, draw_chains(200, 8));
  EXPECT_EQ(std::set<std::string>(chains.begin(), chains.end()).size(), 200U);
  for (const std::string& c : chains) {
    const Result<ir::Graph> g = chain_of(c);
    ASSERT_TRUE(g) << c << "\n" << render(g.diags());
    EXPECT_GT(g->nodes.size(), 1U) << c;
  }
}

FusionRow row(double separate, double together, double chosen, int steps_together = 1) {
  return {"", {2, 1, separate}, {steps_together, 1, together}, {1, 1, chosen}, false};
}

TEST(FusionScore, CountsChainsThatDiffer) {
  FusionValidation v{"p", "d", {}};
  v.rows = {row(2, 1, 1),        // together is faster, and chosen
            row(2, 1, 2),        // and not chosen
            row(1, 2, 1.04),     // separate is faster; a third plan is as fast
            row(1, 1.04, 1.04),  // alike
            row(1, 1.06, 1.06),  // wrongly together
            row(1, 2, 1, 2)};    // nothing can be together
  v.rows[0].wrong = true;
  const FusionScore s = score_of(v);
  EXPECT_EQ(s.chains, 6);
  EXPECT_EQ(s.alike, 2);
  EXPECT_EQ(s.differing, 4);
  EXPECT_EQ(s.together, 2);
  EXPECT_EQ(s.right, 2);
  EXPECT_EQ(s.wrong, 1);
  EXPECT_NEAR(s.lost, std::pow(1 * 2 * 1.04 * 1.04 * 1.06 * 1, 1.0 / 6), 1e-12);
}

TEST(FusionScore, TheTableHasALinePerChain) {
  FusionValidation v{"p", "d", {row(2, 1, 1)}};
  v.rows[0].chain = "relu n=8 | relu n=8";
  EXPECT_THAT(print_csv(v), HasSubstr("\nrelu n=8 | relu n=8,2,1,2,1,1,1,1,1,1,0\n"));
}

}  // namespace
}  // namespace assay::toolkit
