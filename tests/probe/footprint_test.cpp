#include "probe/inference/footprint.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

TEST(Footprint, GroupsOfAUnitReadWindowsOfTheirOwn) {
  for (const int units : {1, 2, 5, 8, 132})
    for (const int64_t each : {1, 3, 4, 8})
      for (const int64_t windows : {2 * each, 2 * each + 1, int64_t{64}})
        for (int unit = 0; unit < units; ++unit) {
          std::set<int64_t> of_unit;
          for (int64_t k = 0; k < each; ++k)
            of_unit.insert(window_of_group(unit + k * units, units, windows));
          EXPECT_EQ(of_unit.size(), each)
              << units << " units, unit " << unit << ", " << windows << " windows";
          EXPECT_LT(*of_unit.rbegin(), windows);
        }
}

// Some caches read faster where more than half of them is used; that is measured even where set
// conflicts begin early. A shared cache is divided among its units, and then its remaining capacity
// is less certain.
TEST(Footprint, OfAPrivateCacheOneIsPastItsHalf) {
  constexpr double kKiB = 1024;
  Levels levels;
  levels.knees = {{44 * kKiB, 52 * kKiB, 48 * kKiB}, {600 * kKiB, 1400 * kKiB, 1024 * kKiB}};
  const std::vector<int64_t> own = footprints_within(levels, 1, 1),
                             part = footprints_within(levels, 1, 2);
  ASSERT_EQ(own.size(), 2u);
  EXPECT_LT(own[0], 512 * kKiB);
  EXPECT_GT(own[1], 1.1 * 512 * kKiB);
  EXPECT_LT(own[1], 1024 * kKiB);
  EXPECT_LT(part.back(), 300 * kKiB);
  levels.knees[1].from = 1000 * kKiB;
  EXPECT_GT(footprints_within(levels, 1, 1).back(), own[1]) << "what still hits is more";
}

// A last cache that looks larger than the buffer must not cause reads outside of it.
TEST(Footprint, OtherDataFitsBesideTheReusedPart) {
  for (const int units : {1, 2, 7, 64})
    for (const double cached : {1e6, 33e6, 190e6, 450e6, 3e9})
      for (const int64_t room : {16384, 65536, 262144}) {
        Known known;
        known.cached = cached;
        constexpr int64_t kPart = 100;
        const std::vector<int64_t> blocks = evicting_blocks(known, units, kPart, room);
        for (size_t i = 0; i < blocks.size(); ++i) {
          EXPECT_LE(units * (kPart + blocks[i]), room)
              << units << " units, " << cached << " B held";
          EXPECT_GT(blocks[i], i == 0 ? 0 : blocks[i - 1]);
        }
        const double most =
            blocks.empty() ? 0 : static_cast<double>(units * blocks.back() * kBlockBytes);
        EXPECT_LT(most, 3 * cached);
        if (static_cast<double>(room * kBlockBytes) > 4 * cached) {
          EXPECT_GT(most, cached / 2) << units;
        }
      }
}

}  // namespace
}  // namespace assay::probe
