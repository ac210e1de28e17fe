// The same numbers as examples/models/counter_rng.py: the check values of
// tests/examples/test_models.py.
#include "toolkit/counter_rng.h"

#include <gtest/gtest.h>

namespace assay::toolkit {
namespace {

TEST(CounterRng, KnownValues) {
  const std::vector<float> expected = {-0.2831748127937317F, 0.8509249091148376F,
                                       -0.18590980768203735F, -0.8674755692481995F};
  EXPECT_EQ(uniform(0, "x", 4), expected);
}

// From the same bits, computed with Python's integers.
TEST(CounterRng, KnownIntegers) {
  EXPECT_EQ(uniform_integers(0, "x", 4, 0, 30521), (std::vector<float>{10939, 28246, 12423, 2022}));
  EXPECT_EQ(uniform_integers(0, "x", 8, -8, 8), (std::vector<float>{-2, 7, -2, -7, -1, 1, 3, -8}));
}

TEST(CounterRng, SeedsAndNamesDiffer) {
  EXPECT_NE(uniform(0, "x", 8), uniform(1, "x", 8));
  EXPECT_NE(uniform(0, "x", 8), uniform(0, "y", 8));
  EXPECT_TRUE(uniform(0, "x", 0).empty());
}

}  // namespace
}  // namespace assay::toolkit
