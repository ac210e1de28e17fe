#include "probe/sampling/system.h"

#include <gtest/gtest.h>

namespace assay::probe {
namespace {

// A second of two processors.
double waiting(double own, double waited, double stolen = 0) {
  const CpuTimes before{.wall = 5, .own = 3, .busy = 4, .stolen = 1, .waited = 2, .cpus = 2};
  CpuTimes after = before;
  after.wall += 1;
  after.own += own;
  after.waited += waited;
  after.stolen += stolen;
  return kept_waiting(before, after);
}

TEST(KeptWaiting, IsTheShareOfTheTimeThatOthersRanInstead) {
  EXPECT_DOUBLE_EQ(waiting(1.2, 0), 0);
  EXPECT_DOUBLE_EQ(waiting(1.2, 0.3), 0.3);
  EXPECT_DOUBLE_EQ(waiting(1.2, 0.3, 0.1), 0.4);
  EXPECT_DOUBLE_EQ(waiting(0.1, 1.9), 1);
}

// A driver's two threads compute and a third one submits work: one of the three always waits.
TEST(KeptWaiting, ForThreadsOfOurOwnIsNotForOthers) {
  EXPECT_DOUBLE_EQ(waiting(2, 0.8), 0);
  EXPECT_NEAR(waiting(1.9, 0.8), 0.1, 1e-12) << "a tenth of one processor's time was not ours";
  EXPECT_DOUBLE_EQ(waiting(2.1, 0.8), 0) << "counters that are read one after the other";
}

}  // namespace
}  // namespace assay::probe
