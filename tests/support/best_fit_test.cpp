// Storage by lifetimes.
#include "support/best_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace assay {
namespace {

TEST(BestFit, TheSmallestGapThatHoldsIt) {
  EXPECT_EQ(best_gap({}, 8), 0);
  EXPECT_EQ(best_gap({{0, 10}, {30, 40}, {45, 60}}, 4), 40);
  EXPECT_EQ(best_gap({{45, 60}, {0, 10}, {30, 40}}, 6), 10);
  EXPECT_EQ(best_gap({{0, 10}, {30, 40}}, 21), 40);
  EXPECT_EQ(best_gap({{0, 50}, {10, 20}}, 5), 50) << "ranges may overlap";
}

TEST(BestFit, ArraysOfOtherTimesShareBytes) {
  const std::vector<Lived> arrays{{0, 1, 100}, {1, 2, 60}, {2, 3, 100}};
  const Fitted f = fit_lifetimes(arrays, 64);
  EXPECT_EQ(f.offsets[0], f.offsets[2]);
  EXPECT_EQ(f.bytes, 128 + 60);
}

TEST(BestFit, RandomArraysNeverMeet) {
  std::mt19937 rng(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<Lived> arrays;
    for (int i = 0; i < 12; ++i) {
      const int first = static_cast<int>(rng() % 10);
      arrays.push_back(
          {first, first + static_cast<int>(rng() % 4), 1 + static_cast<int64_t>(rng() % 300)});
    }
    const Fitted f = fit_lifetimes(arrays, 16);
    int64_t sum = 0, live = 0;
    for (int t = 0; t < 14; ++t) {
      int64_t now = 0;
      for (const Lived& a : arrays) now += a.first <= t && t <= a.last ? a.bytes : 0;
      live = std::max(live, now);
    }
    for (size_t i = 0; i < arrays.size(); ++i) {
      EXPECT_EQ(f.offsets[i] % 16, 0);
      EXPECT_LE(f.offsets[i] + arrays[i].bytes, f.bytes);
      sum += (arrays[i].bytes + 15) / 16 * 16;
      for (size_t j = 0; j < i; ++j) {
        const bool together =
            arrays[i].first <= arrays[j].last && arrays[j].first <= arrays[i].last;
        const bool meet = f.offsets[i] < f.offsets[j] + arrays[j].bytes &&
                          f.offsets[j] < f.offsets[i] + arrays[i].bytes;
        EXPECT_FALSE(together && meet) << round;
      }
    }
    EXPECT_GE(f.bytes, live);
    EXPECT_LE(f.bytes, sum);
  }
}

}  // namespace
}  // namespace assay
