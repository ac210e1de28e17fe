// How the parts of a core's time overlap.
#include "simulator/unit_cost.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::test {
namespace {

using simulator::ecm_time;
using simulator::UnitCost;

constexpr double kOverlapPairs = 0.5;  // as on a core that executes both concurrently

TEST(UnitCost, NothingCostsNothing) { EXPECT_EQ(ecm_time({}, kOverlapPairs), 0); }

TEST(UnitCost, TheBusiestPortIsTheLimit) {
  EXPECT_DOUBLE_EQ(ecm_time({.load = 3}, kOverlapPairs), 3);
  EXPECT_DOUBLE_EQ(ecm_time({.vector = 4, .load = 3, .store = 3}, kOverlapPairs), 4);
  EXPECT_DOUBLE_EQ(ecm_time({.load = 3, .store = 3}, 1), 6) << "one port for both";
}

TEST(UnitCost, WhatOverlapsTakesBetweenTheLongestAndTheSum) {
  const std::vector<double UnitCost::*> parts = {
      &UnitCost::vector, &UnitCost::issue, &UnitCost::chain, &UnitCost::tlb, &UnitCost::transfers};
  UnitCost all;
  double before = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    UnitCost alone;
    alone.*parts[i] = all.*parts[i] = 3;
    EXPECT_DOUBLE_EQ(ecm_time(alone, kOverlapPairs), 3);
    const double joined = ecm_time(all, kOverlapPairs);
    EXPECT_GT(joined, before) << "no part is free";
    EXPECT_LE(joined, 3 * static_cast<double>(i + 1) * (1 + 1e-12));
    before = joined;
  }
}

TEST(UnitCost, CopiesRunBeforeTheLoopsThatCompute) {
  const double beside = ecm_time({.vector = 4, .load = 4}, kOverlapPairs);
  EXPECT_NEAR(ecm_time({.vector = 4, .load = 6, .copied_load = 2}, kOverlapPairs), beside + 2,
              1e-12);
  const double conflicts = ecm_time(
      {.vector = 4, .store = 1, .copied_store = 1, .copied_set_conflicts = 3}, kOverlapPairs);
  EXPECT_GT(conflicts, 4 + 3) << "of copies, beside their stores";
  EXPECT_LT(conflicts, 4 + 3 + 1);
}

TEST(UnitCost, NothingIsFasterThanItsTransfers) {
  EXPECT_GE(ecm_time({.vector = 4, .transfers = 9, .private_non_overlap = 1}, kOverlapPairs), 9);
  EXPECT_DOUBLE_EQ(ecm_time({.transfers = 9, .shared_non_overlap = 4}, kOverlapPairs), 9);
  EXPECT_DOUBLE_EQ(
      ecm_time({.vector = 4, .transfers = 9, .private_non_overlap = 4, .shared_non_overlap = 5},
               kOverlapPairs),
      4 + 9)
      << "nothing overlaps";
}

TEST(UnitCost, LinesThatUnitsTakeFromEachOtherAreWaitedFor) {
  EXPECT_DOUBLE_EQ(ecm_time({.vector = 4, .contention = 3}, kOverlapPairs), 7);
}

}  // namespace
}  // namespace assay::test
