// The cost of a spill, from the times of kernels with a growing number of live values.
#include "probe/inference/spill.h"

#include <gtest/gtest.h>

namespace assay::probe {
namespace {

constexpr double kTicks = 3e9, kStep = 0.5 / kTicks;  // s of an operation

// Samples within a thousandth.
LiveTime at(double values, double seconds) {
  LiveTime t;
  t.values = values;
  t.step.value = seconds;
  t.step.low = 0.999 * seconds;
  t.step.high = 1.001 * seconds;
  t.step.n = 30;
  return t;
}

TEST(Spill, IsTheExtraTimeOverTheSpilledValues) {
  // 32 registers, 48 values: each of the other 16 takes two cycles more.
  const hwdesc::Value<hwdesc::Latency> v = spill_of(
      {at(16, kStep), at(24, kStep), at(48, kStep + 16.0 / 48 * 2 / kTicks)}, 32, 32, kTicks);
  ASSERT_TRUE(v.known()) << v.note;
  EXPECT_NEAR(v.value->v, 2, 1e-3);
  EXPECT_LT(v.low->v, 2);
  EXPECT_GT(v.high->v, 2);
}

// One value more than there are registers: the difference of all 33 is attributed to it, so a
// hundredth is a third of a step.
TEST(Spill, IsUnknownWhereKernelsDifferNoMoreThanClocks) {
  const hwdesc::Value<hwdesc::Latency> v =
      spill_of({at(16, kStep), at(33, 1.01 * kStep)}, 32, 32, kTicks);
  EXPECT_FALSE(v.known());
  EXPECT_NE(v.note.find("take no longer"), std::string::npos);
  EXPECT_TRUE(spill_of({at(16, kStep), at(33, 1.1 * kStep)}, 32, 32, kTicks).known());
}

}  // namespace
}  // namespace assay::probe
