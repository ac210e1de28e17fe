// A machine that runs at half its pace for a while, as a script of times says.
#include "toolkit/pace.h"

#include <gtest/gtest.h>

#include "scripted_device.h"
#include "toolkit/profiles.h"

namespace assay::toolkit {
namespace {

using test::ScriptedDevice;

hwdesc::Target target(const char* profile) { return *target_of(*load_profile(profile), ""); }

std::unique_ptr<Pace> pace_on(ScriptedDevice& device) {
  Result<std::unique_ptr<Pace>> pace = Pace::load(device, target("generic/x86-avx512-2core"), "");
  EXPECT_TRUE(pace.ok());
  return std::move(*pace);
}

TEST(Pace, IsMeasuredByTheFastestBurstSoFar) {
  ScriptedDevice device({2e-4, 1e-4, 1.1e-4, 2e-4, 1e-4});
  const auto pace = pace_on(device);
  EXPECT_EQ(device.loaded, "op_fma_16_12");
  EXPECT_FALSE(*pace->slow(nullptr)) << "the first one is all there is";
  EXPECT_FALSE(*pace->slow(nullptr));
  EXPECT_FALSE(*pace->slow(nullptr)) << "a tenth is no other guest";
  EXPECT_TRUE(*pace->slow(nullptr));
  EXPECT_FALSE(*pace->slow(nullptr));
  EXPECT_EQ(device.script.launches, 2u) << "one that wakes the units, one that counts";
}

TEST(Pace, WaitsUntilTheMachineIsBackAndNotLonger) {
  ScriptedDevice device({1e-4, 2e-4, 2e-4, 1e-4, 2e-4});
  const auto pace = pace_on(device);
  EXPECT_FALSE(*pace->slow(nullptr));
  EXPECT_TRUE(pace->wait(nullptr).empty());
  EXPECT_EQ(device.script.asked, 4u);
}

TEST(Pace, PatienceEnds) {
  ScriptedDevice device({1e-4, 2e-4});
  const auto pace = pace_on(device);
  EXPECT_FALSE(*pace->slow(nullptr));
  EXPECT_TRUE(pace->wait(nullptr).empty());
  EXPECT_GT(device.script.asked, 5u);
  EXPECT_LT(device.script.asked, 100u);
}

TEST(Pace, ThreadsOfLanesHaveNone) {
  ScriptedDevice device({1e-4});
  const auto pace = Pace::load(device, target("nvidia/rtx-3090"), "");
  ASSERT_TRUE(pace.ok());
  EXPECT_EQ(*pace, nullptr);
  EXPECT_TRUE(device.loaded.empty());
}

}  // namespace
}  // namespace assay::toolkit
