#include "probe/inference/footprint.h"

#include <gtest/gtest.h>

#include <set>

namespace assay::probe {
namespace {

TEST(Footprint, GroupsOfAUnitReadWindowsOfTheirOwn) {
  for (const int units : {1, 2, 5, 8, 132})
    for (const int64_t each : {1, 3, 4, 8})
      for (const int64_t windows : {2 * each, 2 * each + 1, int64_t{64}})
        for (int unit = 0; unit < units; ++unit) {
          std::set<int64_t> of_unit;
          for (int64_t k = 0; k < each; ++k) of_unit.insert(window_of_group(unit + k * units, units, windows));
          EXPECT_EQ(of_unit.size(), each) << units << " units, unit " << unit << ", " << windows << " windows";
          EXPECT_LT(*of_unit.rbegin(), windows);
        }
}

}  // namespace
}  // namespace assay::probe
