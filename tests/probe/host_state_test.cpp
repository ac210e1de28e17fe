// A machine that runs at half its rate for a while, by a script of times.
#include "probe/host_state.h"

#include <gtest/gtest.h>

#include "hwdesc/library.h"
#include "probe/as_probed.h"
#include "probe/kernels/kernels.h"
#include "tests/probe/scripted_device.h"

namespace assay::probe {
namespace {

using test::ScriptedDevice;

hwdesc::Target target(const char* name) {
  const hwdesc::Profile profile = *hwdesc::load_from_library(name);
  return *hwdesc::select_target(profile, "", hwdesc::dialect_text(profile.apis.at(0).dialect));
}

// With a rate of dirty remote reads, as a probe measures it.
hwdesc::Target with_dirty_reads() {
  hwdesc::Target out = target("generic/x86-avx512-2core");
  for (hwdesc::MemoryLevel& l : out.profile.memory)
    if (l.name == "l2") l.bandwidth.dirty_remote_read.value = hwdesc::Bandwidth{10e9, ""};
  return out;
}

std::unique_ptr<HostState> state_on(ScriptedDevice& device) {
  Result<std::unique_ptr<HostState>> host =
      HostState::load(device, target("generic/x86-avx512-2core"), "");
  EXPECT_TRUE(host.ok());
  return std::move(*host);
}

TEST(HostState, IsMeasuredByTheFastestBurstSoFar) {
  ScriptedDevice device({2e-4, 1e-4, 1.1e-4, 2e-4, 1e-4});
  const auto host = state_on(device);
  EXPECT_EQ(device.loaded, "op_fma_16_12");
  EXPECT_FALSE(*host->slow(nullptr)) << "there is no faster one yet";
  EXPECT_FALSE(*host->slow(nullptr));
  EXPECT_FALSE(*host->slow(nullptr)) << "a tenth slower is noise";
  EXPECT_TRUE(*host->slow(nullptr));
  EXPECT_FALSE(*host->slow(nullptr));
  EXPECT_EQ(device.script.launches, 2u) << "one that wakes the units, one that counts";
}

TEST(HostState, WaitsUntilTheMachineIsFastAgainAndNotLonger) {
  ScriptedDevice device({1e-4, 2e-4, 2e-4, 1e-4, 2e-4});
  const auto host = state_on(device);
  EXPECT_FALSE(*host->slow(nullptr));
  EXPECT_TRUE(host->wait(nullptr).empty());
  EXPECT_EQ(device.script.asked, 4u);
}

TEST(HostState, PatienceEnds) {
  ScriptedDevice device({1e-4, 2e-4});
  const auto host = state_on(device);
  EXPECT_FALSE(*host->slow(nullptr));
  EXPECT_TRUE(host->wait(nullptr).empty());
  EXPECT_GT(device.script.asked, 5u);
  EXPECT_LT(device.script.asked, 100u);
}

TEST(HostState, LooksOnceWithoutPatience) {
  hwdesc::Target shared = with_dirty_reads();
  ScriptedDevice device({1e-4, 1e-5, 4e-5, 1e-5, 4e-5, 1e-5, 4e-5, 1e-4, 1e-5, 1.2e-5});
  const Result<std::unique_ptr<HostState>> host = HostState::load(device, shared, "", {0, 0});
  ASSERT_TRUE(host.ok());
  EXPECT_TRUE((*host)->wait(nullptr).empty());
  EXPECT_TRUE((*host)->was_cross_die());
  EXPECT_EQ((*host)->looks(), 1);
  EXPECT_TRUE((*host)->wait(nullptr).empty());
  EXPECT_FALSE((*host)->was_cross_die());
  EXPECT_EQ((*host)->looks(), 2);
}

// The fastest burst and dirty remote reads, over the profile's rates.
TEST(AsProbed, ComparesTheRatesOfNowWithTheProfiles) {
  hwdesc::Target as_now = with_dirty_reads();
  EXPECT_FALSE(was_probed(as_now)) << "of the library";
  for (hwdesc::Pipe& p : as_now.profile.pipes) p.rate.source = hwdesc::Origin::measured;
  EXPECT_TRUE(was_probed(as_now));
  ScriptedDevice device({3e-4, 1e-4, 2e-4, 5e-5});
  const Result<std::unique_ptr<HostState>> host = HostState::load(device, as_now, "");
  ASSERT_TRUE(host.ok());
  const Result<AsProbed> now = as_probed(**host, {5e9, 10e9, 0}, nullptr);
  ASSERT_TRUE(now.ok());
  EXPECT_EQ(device.script.asked, 10u)
      << "three bursts, pairs of writes and reads, three cross-die looks at either unit";
  EXPECT_EQ(now->cross_die_ratio, 1) << "every launch takes as long";
  const double fastest = 20'000.0 * op_steps("fma", 12, false) / 1e-4;
  EXPECT_NEAR(now->multiply_adds, fastest / 5e9, 1e-9) << "the fastest burst of three";
  EXPECT_EQ(now->upgrade, 0) << "the profile does not know it";
  const double part = 5e-5 * now->dirty_remote_read * 10e9;  // bytes that took 50 us
  EXPECT_GT(part, 0.2 * as_now.profile.memory[1].capacity.value->v);
  EXPECT_LE(part, 0.5 * as_now.profile.memory[1].capacity.value->v);
}

// A burst, and three cross-die looks: each reads a unit's own lines, then those of the other unit.
TEST(HostState, WaitsUntilUnitsShareTheLastCacheAgain) {
  hwdesc::Target shared = with_dirty_reads();
  ScriptedDevice device({1e-4, 1e-5, 4e-5, 1e-5, 4e-5, 1e-5, 4e-5, 1e-4, 1e-5, 1.2e-5});
  const Result<std::unique_ptr<HostState>> loaded = HostState::load(device, shared, "");
  ASSERT_TRUE(loaded.ok());
  HostState& host = **loaded;
  EXPECT_FALSE(host.was_cross_die());
  EXPECT_EQ(host.part_cross_die(), 0);
  EXPECT_TRUE(host.wait(nullptr).empty());
  EXPECT_EQ(device.script.asked, 14u) << "twice";
  EXPECT_FALSE(host.was_cross_die());
  EXPECT_EQ(host.looks(), 2);
  EXPECT_DOUBLE_EQ(host.part_cross_die(), 0.5);

  for (hwdesc::MemoryLevel& l : shared.profile.memory)
    if (l.name == "l3") l.per = shared.profile.memory[1].per;
  ScriptedDevice always({1e-4, 1e-5, 4e-5});
  const Result<std::unique_ptr<HostState>> split = HostState::load(always, shared, "");
  ASSERT_TRUE(split.ok());
  EXPECT_FALSE(*(*split)->cross_die(nullptr)) << "they were so when they were probed";
  EXPECT_EQ(always.script.asked, 0u);
}

TEST(AsProbed, LikenessFallsWithWhatIsSlowerAndOnlyThatIsReported) {
  EXPECT_EQ(likeness({1, 1}), 1);
  EXPECT_EQ(likeness({0.9, 0}), 1) << "an unknown rate is no difference";
  EXPECT_LT(likeness({0.5, 1}), 1);
  EXPECT_LT(likeness({0.5, 0.5}), likeness({0.5, 1}));
  EXPECT_TRUE(differences({1, 1}).empty());
  EXPECT_TRUE(differences({}).empty());
  ASSERT_EQ(differences({0.5, 1}).size(), 1u);
  EXPECT_EQ(differences({0.5, 1})[0].severity, Severity::warning);
  EXPECT_NE(render(differences({1, 0.4})).find("on more distant cores than when they were probed"),
            std::string::npos);
  EXPECT_NE(render(differences({1.3, 2})).find("placed them on more distant cores"),
            std::string::npos);
  EXPECT_EQ(differences({1.3, 2}).size(), 2u);
}

TEST(AsProbed, ReportsCrossDiePlacement) {
  EXPECT_TRUE(placed_as_probed({0.5, 1, 1, 1.2})) << "slow, but placed alike";
  EXPECT_TRUE(placed_as_probed({}));
  EXPECT_FALSE(placed_as_probed({1, 1, 1, 4}));
  EXPECT_FALSE(placed_as_probed({1, 0.5, 1, 1}));
  EXPECT_FALSE(placed_as_probed({1, 2, 1, 1}));
  EXPECT_TRUE(differences({1, 1, 1, 1.2}).empty());
  EXPECT_EQ(likeness({1, 1, 1, 1.2}), 1);
  EXPECT_LT(likeness({1, 1, 1, 4}), 1);
  ASSERT_EQ(differences({1, 1, 1, 4}).size(), 1u);
  EXPECT_NE(render(differences({1, 1, 1, 4})).find("4.0 times"), std::string::npos);
}

// Rates between units, and the last cache where they have one each; nothing else of the profile.
TEST(AsProbed, TheProfileTakesThePlacementOfNow) {
  hwdesc::Profile p = target("generic/x86-avx512-2core").profile;
  hwdesc::MemoryLevel &l2 = p.memory[1], &l3 = p.memory[2];
  ASSERT_EQ(l3.per, "device");
  const auto known = [](double v) {
    hwdesc::Value<hwdesc::Bandwidth> out;
    out.value = hwdesc::Bandwidth{v, ""};
    return out;
  };
  l2.bandwidth.dirty_remote_read = known(50e9), l2.bandwidth.dirty_remote_rfo = known(40e9),
  l2.bandwidth.upgrade = known(9e9);
  l3.bandwidth.read = known(200e9), l3.bandwidth.per_unit = known(120e9);
  EXPECT_EQ(profile_as_placed(p, {}), p);
  EXPECT_EQ(profile_as_placed(p, {0.5, 1, 1, 1}), p) << "a unit's own rate is left";
  const hwdesc::Profile slower = profile_as_placed(p, {1, 0.5, 0.25, 1.1});
  EXPECT_DOUBLE_EQ(slower.memory[1].bandwidth.dirty_remote_read.value->v, 25e9);
  EXPECT_DOUBLE_EQ(slower.memory[1].bandwidth.dirty_remote_rfo.value->v, 20e9);
  EXPECT_DOUBLE_EQ(slower.memory[1].bandwidth.upgrade.value->v, 2.25e9);
  EXPECT_EQ(slower.memory[2], l3);
  const hwdesc::Profile split = profile_as_placed(p, {1, 1, 1, 4});
  EXPECT_EQ(split.memory[2].per, l2.per);
  EXPECT_DOUBLE_EQ(split.memory[2].bandwidth.read.value->v, 120e9) << "what one unit alone reaches";
  EXPECT_EQ(split.memory[1], l2);
}

TEST(HostState, LanesThatAreThreadsHaveNone) {
  ScriptedDevice device({1e-4});
  const auto host = HostState::load(device, target("nvidia/rtx-3090"), "");
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(*host, nullptr);
  EXPECT_TRUE(device.loaded.empty());
}

}  // namespace
}  // namespace assay::probe
