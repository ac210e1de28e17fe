// The choice of steps against all choices there are.
#include "compiler/search/cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

namespace assay::compiler {
namespace {

struct Cover {
  int parts = 0;
  std::vector<CoverSet> sets;
  std::vector<double> bound;
};

// Sets of one part each, and some of several that end in a part.
Cover random_cover(uint32_t seed) {
  std::mt19937 rng(seed);
  Cover out;
  out.parts = 1 + static_cast<int>(rng() % 9);
  std::uniform_real_distribution<double> time(1, 10);
  for (int i = 0; i < out.parts; ++i) {
    out.sets.push_back({{i}, time(rng)});
    for (unsigned n = rng() % 4; n > 0; --n) {
      std::set<int> parts = {i};
      for (int j = 0; j < i; ++j)
        if (rng() % 2 == 0) parts.insert(j);
      out.sets.push_back(
          {{parts.begin(), parts.end()}, time(rng) * static_cast<double>(parts.size()) * 0.7});
    }
  }
  // No set is faster than the bounds of its parts.
  out.bound.assign(static_cast<size_t>(out.parts), std::numeric_limits<double>::max());
  for (const CoverSet& s : out.sets)
    for (const int p : s.parts)
      out.bound[static_cast<size_t>(p)] = std::min(out.bound[static_cast<size_t>(p)],
                                                   s.seconds / static_cast<double>(s.parts.size()));
  return out;
}

// Of all choices from part `next` on, by trying each.
double least(const Cover& c, std::vector<bool> taken, int next) {
  while (next < c.parts && taken[static_cast<size_t>(next)]) ++next;
  if (next == c.parts) return 0;
  double out = std::numeric_limits<double>::infinity();
  for (const CoverSet& s : c.sets) {
    if (std::find(s.parts.begin(), s.parts.end(), next) == s.parts.end()) continue;
    std::vector<bool> then = taken;
    bool fits = true;
    for (const int p : s.parts) {
      fits = fits && !then[static_cast<size_t>(p)];
      then[static_cast<size_t>(p)] = true;
    }
    if (fits) out = std::min(out, s.seconds + least(c, then, next + 1));
  }
  return out;
}

// The sum of a choice; infinite: it does not hold each part once.
double sum_of(const Cover& c, const std::vector<int>& chosen) {
  std::multiset<int> parts;
  double out = 0;
  for (const int s : chosen) {
    const CoverSet& set = c.sets[static_cast<size_t>(s)];
    parts.insert(set.parts.begin(), set.parts.end());
    out += set.seconds;
  }
  const std::set<int> once(parts.begin(), parts.end());
  const bool whole = static_cast<int>(parts.size()) == c.parts && once.size() == parts.size();
  return whole ? out : std::numeric_limits<double>::infinity();
}

TEST(Cover, IsTheFastestOfAllChoices) {
  int several = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const Cover c = random_cover(seed);
    const std::vector<int> chosen = best_cover(c.parts, c.sets, c.bound, 1 << 20);
    const double best = least(c, std::vector<bool>(static_cast<size_t>(c.parts)), 0);
    EXPECT_NEAR(sum_of(c, chosen), best, 1e-9) << seed;
    several += static_cast<int>(chosen.size()) < c.parts ? 1 : 0;
  }
  EXPECT_GT(several, 200);
}

// a with b saves more than b with c, which a choice from the end back would take.
TEST(Cover, ALaterGainDoesNotTakeWhatAnEarlierOneNeeds) {
  const std::vector<CoverSet> sets = {{{0}, 10}, {{1}, 10}, {{2}, 10}, {{0, 1}, 11}, {{1, 2}, 15}};
  EXPECT_EQ(best_cover(3, sets, {5, 5, 7}, 8), (std::vector<int>{2, 3}));
}

TEST(Cover, ANarrowBeamIsStillACover) {
  double all = 0, exact = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Cover c = random_cover(seed);
    const double sum = sum_of(c, best_cover(c.parts, c.sets, c.bound, 4));
    const double best = least(c, std::vector<bool>(static_cast<size_t>(c.parts)), 0);
    EXPECT_GE(sum, best - 1e-9);
    all += sum;
    exact += best;
  }
  EXPECT_LT(all, 1.05 * exact);
}

}  // namespace
}  // namespace assay::compiler
