// What a value without a register costs, from the times of kernels with ever more of them.
#include "probe/inference/spill.h"

#include <gtest/gtest.h>

namespace assay::probe {
namespace {

constexpr double kTicks = 3e9, kStep = 0.5 / kTicks;  // s of an operation

// Samples that lie within a thousandth.
LiveTime at(double values, double seconds) {
  LiveTime t;
  t.values = values;
  t.step.value = seconds;
  t.step.low = 0.999 * seconds;
  t.step.high = 1.001 * seconds;
  t.step.n = 30;
  return t;
}

TEST(Spill, IsWhatAllOperationsTakeLongerOverThoseWithoutARegister) {
  // 32 registers, 48 values: each of the 16 others takes two ticks more.
  const hwdesc::Value<hwdesc::Latency> v = spill_of(
      {at(16, kStep), at(24, kStep), at(48, kStep + 16.0 / 48 * 2 / kTicks)}, 32, 32, kTicks);
  ASSERT_TRUE(v.known()) << v.note;
  EXPECT_NEAR(v.value->v, 2, 1e-3);
  EXPECT_LT(v.low->v, 2);
  EXPECT_GT(v.high->v, 2);
}

// One value more than there are registers: what all 33 differ by is laid on it, so a hundredth is a
// third of a step.
TEST(Spill, IsUnknownWhereTwoKernelsDifferByNoMoreThanTheirClocksMay) {
  const hwdesc::Value<hwdesc::Latency> v =
      spill_of({at(16, kStep), at(33, 1.01 * kStep)}, 32, 32, kTicks);
  EXPECT_FALSE(v.known());
  EXPECT_NE(v.note.find("take no longer"), std::string::npos);
  EXPECT_TRUE(spill_of({at(16, kStep), at(33, 1.1 * kStep)}, 32, 32, kTicks).known());
}

}  // namespace
}  // namespace assay::probe
