// Lines by the strides that fill a cache, where a neighbour has a part of it.
#include "probe/inference/transfer.h"

#include <gtest/gtest.h>

#include "tests/probe/synthetic.h"

namespace assay::probe {
namespace {

using test::block;
constexpr double kNear = 30e-9, kFar = 400e-9;

Known one_cache() {
  Known k;
  k.threads = true;
  k.levels.plateaus = {{1024, 16384, kNear}, {65536, 1 << 20, kFar}};
  k.levels.knees = {{30000, 34000, 32768}};
  return k;
}

// Strides of a cache with lines of 128 B. `held`: what a footprint inside the cache takes directly
// after each; 0: it was not looked at. A neighbour halves the cache at strides below `disturbed`.
Observations strides(double held, double disturbed) {
  Observations o;
  for (const double s : {64, 128, 256, 512}) {
    const Conditions at = {{"level", 0}, {"stride", s}};
    const bool half = s < disturbed;
    o.points.push_back(block("transfer", "span", at, s <= (half ? 256 : 128) ? kFar : kNear));
    if (held > 0) o.points.push_back(block("transfer", "held", at, half ? held : kNear));
  }
  return o;
}

TEST(Line, MissesCountWhereTheCacheHoldsWhatItShould) {
  EXPECT_EQ(line_of(strides(0, 0), one_cache(), 0).value->v, 128) << "journals without such looks";
  EXPECT_EQ(line_of(strides(kNear, 0), one_cache(), 0).value->v, 128);
  const auto untold = line_of(strides(kFar, 1000), one_cache(), 0);
  EXPECT_FALSE(untold.known());
  EXPECT_NE(untold.note.find("others had a part"), std::string::npos) << untold.note;
  EXPECT_FALSE(line_or_nearer(strides(kFar, 1000), one_cache(), 0).known());
}

// Looks at another time decide, since a neighbour lets no stride hit that would miss.
TEST(Line, OneUndisturbedLookAtEachStrideSuffices) {
  Observations o = strides(kFar, 1000);
  const Observations later = strides(kFar, 0);
  o.points.insert(o.points.end(), later.points.begin(), later.points.end());
  EXPECT_EQ(line_of(o, one_cache(), 0).value->v, 128);
}

}  // namespace
}  // namespace assay::probe
