// What made-up times of neighbours say of a compiler that joins them.
#include <gtest/gtest.h>

#include "probe/joined.h"
#include "synthetic.h"

namespace assay::probe {
namespace {

// Seconds per element where up to `lanes` are one operation.
Observations runs(double lanes, double rest = 0) {
  Observations o;
  for (const int run : kNeighbourRuns) o.points.push_back(test::block("joined", "neighbours", {{"run", run}}, 1e-9 / std::min<double>(run, lanes) + rest));
  return o;
}

TEST(Joined, lanes_are_the_longest_run_that_gains) {
  EXPECT_EQ(joined_lanes(runs(1), 16).value->v, 1);
  EXPECT_EQ(joined_lanes(runs(4), 16).value->v, 4);
  EXPECT_EQ(joined_lanes(runs(16), 16).value->v, 16);
  EXPECT_EQ(joined_lanes(runs(16, 0.02e-9), 16).value->v, 16);
  EXPECT_EQ(joined_lanes(runs(16), 8).value->v, 8) << "no longer than the device's vectors";
  EXPECT_FALSE(joined_lanes({}, 16).known());
}

// Faster at 2 already told; 4 gains nothing and 8 does: not by itself, but over both.
TEST(Joined, a_step_that_gains_nothing_does_not_end_it) {
  Observations o;
  const double times[] = {1e-9, 0.5e-9, 0.48e-9, 0.2e-9, 0.2e-9};
  for (size_t i = 0; i < kNeighbourRuns.size(); ++i) o.points.push_back(test::block("joined", "neighbours", {{"run", kNeighbourRuns[i]}}, times[i]));
  EXPECT_EQ(joined_lanes(o, 16).value->v, 8);
}

}  // namespace
}  // namespace assay::probe
