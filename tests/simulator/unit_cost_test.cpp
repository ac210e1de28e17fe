// How the parts of a core's time overlap.
#include "simulator/unit_cost.h"

#include <gtest/gtest.h>

#include "model/residual.h"

namespace assay::test {
namespace {

using simulator::ecm_time;
using simulator::UnitCost;

constexpr double kOverlapPairs = 0.5;  // as on a core that executes both concurrently

TEST(UnitCost, NothingCostsNothing) { EXPECT_EQ(ecm_time({}, kOverlapPairs), 0); }

TEST(UnitCost, LoadsAndStoresOverlapInPart) {
  EXPECT_DOUBLE_EQ(ecm_time({.load = 3}, kOverlapPairs), 3);
  const double both = ecm_time({.load = 3, .store = 3}, kOverlapPairs);
  EXPECT_GT(both, 4);
  EXPECT_LT(both, 6) << "not one after the other";
  EXPECT_LT(ecm_time({.load = 3, .store = 0.3}, kOverlapPairs), 3.3);
  EXPECT_DOUBLE_EQ(ecm_time({.load = 3, .store = 3}, 1), 6) << "one port for both";
}

TEST(UnitCost, CopiesRunBeforeTheLoopsThatCompute) {
  const double beside = ecm_time({.vector = 4, .load = 4}, kOverlapPairs);
  EXPECT_NEAR(ecm_time({.vector = 4, .load = 6, .copied_load = 2}, kOverlapPairs), beside + 2,
              1e-12);
}

TEST(UnitCost, SetConflictsOfCopiesOverlapWithTheirStores) {
  const double computing = ecm_time({.vector = 4}, kOverlapPairs);
  EXPECT_DOUBLE_EQ(ecm_time({.vector = 4, .store = 1, .copied_store = 1, .copied_set_conflicts = 3},
                            kOverlapPairs),
                   computing + 3)
      << "conflicts are the limit";
  EXPECT_DOUBLE_EQ(ecm_time({.vector = 4, .store = 3, .copied_store = 3, .copied_set_conflicts = 1},
                            kOverlapPairs),
                   computing + 3);
  EXPECT_DOUBLE_EQ(ecm_time({.vector = 4,
                             .store = 1,
                             .private_non_overlap = 2,
                             .copied_store = 1,
                             .copied_non_overlap = 2,
                             .copied_set_conflicts = 4},
                            kOverlapPairs),
                   computing + 4);
}

TEST(UnitCost, NothingIsFasterThanItsTransfers) {
  EXPECT_DOUBLE_EQ(ecm_time({.vector = 4, .transfers = 9, .private_non_overlap = 1}, kOverlapPairs),
                   9);
  EXPECT_DOUBLE_EQ(
      ecm_time({.vector = 4, .transfers = 9, .private_non_overlap = 3, .shared_non_overlap = 4},
               kOverlapPairs),
      11);
}

TEST(UnitCost, ContentionOverlapsInPart) {
  const double met = ecm_time({.vector = 4, .contention = 4}, kOverlapPairs);
  EXPECT_GT(met, 6);
  EXPECT_LT(met, 8);
}

}  // namespace
}  // namespace assay::test
