// Rank statistics against other forms of their definitions: differences of ranks and inversions of
// permutations, and sizes of tied groups.
#include "toolkit/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace assay::toolkit {
namespace {

using Numbers = std::vector<double>;

Numbers permutation(size_t n, std::mt19937& rng) {
  Numbers v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<double>(i);
  std::shuffle(v.begin(), v.end(), rng);
  return v;
}

TEST(Statistics, SpearmanOfPermutationsIsThatOfRankDifferences) {
  std::mt19937 rng(1);
  for (size_t n = 2; n < 40; ++n) {
    const Numbers x = permutation(n, rng), y = permutation(n, rng);
    double d2 = 0;
    for (size_t i = 0; i < n; ++i) d2 += (x[i] - y[i]) * (x[i] - y[i]);
    const auto m = static_cast<double>(n);
    ASSERT_NEAR(*spearman(x, y), 1 - 6 * d2 / (m * (m * m - 1)), 1e-12);
  }
}

TEST(Statistics, KendallOfPermutationsCountsInversions) {
  std::mt19937 rng(2);
  for (size_t n = 2; n < 40; ++n) {
    const Numbers y = permutation(n, rng);
    Numbers x(n);
    double inversions = 0;
    for (size_t i = 0; i < n; ++i) {
      x[i] = static_cast<double>(i);
      for (size_t j = 0; j < i; ++j) inversions += y[j] > y[i] ? 1 : 0;
    }
    const double pairs = static_cast<double>(n * (n - 1)) / 2;
    ASSERT_NEAR(*kendall(x, y), 1 - 2 * inversions / pairs, 1e-12);
  }
}

double tied_pairs(const Numbers& v) {
  std::map<double, double> sizes;
  for (double x : v) sizes[x] += 1;
  double sum = 0;
  for (const auto& [x, size] : sizes) sum += size * (size - 1) / 2;
  return sum;
}

TEST(Statistics, TiesCountByTheirGroups) {
  std::mt19937 rng(3);
  for (int round = 0; round < 50; ++round) {
    Numbers x(12), y(12), rank_x(12), rank_y(12);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<double>(rng() % 5);
      y[i] = static_cast<double>(rng() % 4);
    }
    double concordant = 0, discordant = 0, product = 0, square_x = 0, square_y = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = 0; j < x.size(); ++j) {
        rank_x[i] += (x[j] < x[i] ? 1 : 0) + (j != i && x[j] == x[i] ? 0.5 : 0);
        rank_y[i] += (y[j] < y[i] ? 1 : 0) + (j != i && y[j] == y[i] ? 0.5 : 0);
        if (j >= i) continue;
        concordant += (x[i] - x[j]) * (y[i] - y[j]) > 0 ? 1 : 0;
        discordant += (x[i] - x[j]) * (y[i] - y[j]) < 0 ? 1 : 0;
      }
      product += (rank_x[i] - 5.5) * (rank_y[i] - 5.5);
      square_x += (rank_x[i] - 5.5) * (rank_x[i] - 5.5);
      square_y += (rank_y[i] - 5.5) * (rank_y[i] - 5.5);
    }
    const double pairs = 12 * 11 / 2;
    ASSERT_NEAR(
        *kendall(x, y),
        (concordant - discordant) / std::sqrt((pairs - tied_pairs(x)) * (pairs - tied_pairs(y))),
        1e-12);
    ASSERT_NEAR(*spearman(x, y), product / std::sqrt(square_x * square_y), 1e-12);
  }
}

TEST(Statistics, NoFigureWithoutAnOrder) {
  EXPECT_FALSE(spearman(Numbers{}, Numbers{}));
  EXPECT_FALSE(spearman(Numbers{1}, Numbers{2}));
  EXPECT_FALSE(spearman(Numbers{1, 1, 1}, Numbers{1, 2, 3}));
  EXPECT_FALSE(kendall(Numbers{1}, Numbers{2}));
  EXPECT_FALSE(kendall(Numbers{1, 2, 3}, Numbers{4, 4, 4}));
  EXPECT_FALSE(median(Numbers{}));
  EXPECT_FALSE(mean(Numbers{}));
  EXPECT_FALSE(geometric_mean(Numbers{}));
}

TEST(Statistics, MeansAndQuantiles) {
  std::mt19937 rng(4);
  for (size_t n = 1; n < 30; ++n) {
    Numbers v(n);
    double product = 1;
    for (double& x : v) {
      x = 0.5 + static_cast<double>(rng() % 1000) / 500;
      product *= x;
    }
    EXPECT_NEAR(*geometric_mean(v), std::pow(product, 1 / static_cast<double>(n)), 1e-9);
    Numbers sorted = v;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(*median(v), (sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
    EXPECT_EQ(quantile_of(v, 0), sorted.front());
    EXPECT_EQ(quantile_of(v, 1), sorted.back());
  }
}

}  // namespace
}  // namespace assay::toolkit
