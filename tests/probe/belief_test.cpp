// When a device's own times are plausible, and the message where they are not.
#include "probe/sampling/belief.h"

#include <gmock/gmock.h>

#include "probe/inference/doubts.h"

namespace assay::probe {
namespace {

TEST(Belief, ADeviceIsNotBusyLongerThanItsRun) {
  EXPECT_EQ(belief_in({1e-3, 1.1e-3, 1}), Belief::good);
  EXPECT_EQ(belief_in({40e-3, 1e-3, 1}), Belief::none);
  EXPECT_EQ(belief_in({1.8e10, 1e-3, 1}), Belief::none) << "a counter that wrapped";
  EXPECT_EQ(belief_in({std::nan(""), 1e-3, 1}), Belief::none);
}

TEST(Belief, ALongRunThatWasHardlyBusyIsDoubtful) {
  EXPECT_EQ(belief_in({100e-3 / 16, 100e-3, 1}), Belief::doubtful);
  EXPECT_EQ(belief_in({1e-3 / 16, 1e-3, 1}), Belief::good)
      << "too short to tell from what launching costs";
  EXPECT_EQ(belief_in({1e-6, 200 * 100e-6, 200}), Belief::good)
      << "empty steps cost what launching does";
}

TEST(Belief, ASimulatedDeviceHasNoBusyHost) {
  EXPECT_EQ(belief_in({1e-3, 1e-3, 1, true}), Belief::good);
  EXPECT_EQ(belief_in({1e-3 / 16, 1e-3, 1, true}), Belief::none);
  EXPECT_EQ(belief_in({1e-3, 1e-3 / 16, 1, true}), Belief::none);
}

TEST(Doubts, AreSaidWithTheirNumbers) {
  Observations all;
  EXPECT_EQ(doubts_of(all), "");
  all.facts = {{"doubted.clock", "1 of 40"}};
  EXPECT_THAT(doubts_of(all),
              testing::StartsWith("1 sample was taken again beside 40 that count: "));
  all.facts = {{"simulated", "yes"}, {"doubted.clock", "2 of 40"}, {"doubted.chase", "1 of 60"}};
  EXPECT_EQ(doubts_of(all),
            "3 samples were taken again beside 100 that count: the device's own times and a clock "
            "from outside disagreed");
  all.endings.push_back(
      {"fma", Outcome::failed, 1,
       std::string("error: ") + kNoTrust + ": the device says 1 us of what took 16 us"});
  EXPECT_THAT(doubts_of(all),
              testing::EndsWith("; the device's times could not be trusted in: fma"));
}

}  // namespace
}  // namespace assay::probe
