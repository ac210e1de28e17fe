// What the parts of a core's cost come to.
#include "simulator/unit_cost.h"

#include <gtest/gtest.h>

#include "model/residual.h"

namespace assay::test {
namespace {

using simulator::composed;
using simulator::UnitCost;

constexpr double kTogether = 0.5;  // as on a core that does both at once

TEST(UnitCost, NothingCostsNothing) { EXPECT_EQ(composed({}, kTogether), 0); }

TEST(UnitCost, LoadsAndStoresHoldEachOtherUp) {
  EXPECT_DOUBLE_EQ(composed({.load = 3}, kTogether), 3);
  const double both = composed({.load = 3, .store = 3}, kTogether);
  EXPECT_GT(both, 4);
  EXPECT_LT(both, 6) << "not one after the other";
  EXPECT_LT(composed({.load = 3, .store = 0.3}, kTogether), 3.3);
  EXPECT_DOUBLE_EQ(composed({.load = 3, .store = 3}, 1), 6) << "one port for both";
}

TEST(UnitCost, CopiesStandBeforeWhatComputes) {
  const double beside = composed({.vector = 4, .load = 4}, kTogether);
  EXPECT_NEAR(composed({.vector = 4, .load = 6, .copied_load = 2}, kTogether), beside + 2, 1e-12);
}

TEST(UnitCost, LinesThatCopiesChangeMoveMeanwhile) {
  const double computing = composed({.vector = 4}, kTogether);
  EXPECT_DOUBLE_EQ(
      composed({.vector = 4, .store = 1, .copied_store = 1, .copied_sets = 3}, kTogether),
      computing + 3)
      << "stored as their sets take them";
  EXPECT_DOUBLE_EQ(
      composed({.vector = 4, .store = 3, .copied_store = 3, .copied_sets = 1}, kTogether),
      computing + 3);
  EXPECT_DOUBLE_EQ(composed({.vector = 4,
                             .store = 1,
                             .near = 2,
                             .copied_store = 1,
                             .copied_near = 2,
                             .copied_sets = 4},
                            kTogether),
                   computing + 4);
}

TEST(UnitCost, NothingIsFasterThanItsTransfers) {
  EXPECT_DOUBLE_EQ(composed({.vector = 4, .streaming = 9, .near = 1}, kTogether), 9);
  EXPECT_DOUBLE_EQ(composed({.vector = 4, .streaming = 9, .near = 3, .far = 4}, kTogether), 11);
}

TEST(UnitCost, UnitsThatMeetGoOnMeanwhile) {
  const double met = composed({.vector = 4, .contended = 4}, kTogether);
  EXPECT_GT(met, 6);
  EXPECT_LT(met, 8);
}

}  // namespace
}  // namespace assay::test
