// A machine that runs at half its pace for a while, as a script of times says.
#include "toolkit/host_state.h"

#include <gtest/gtest.h>

#include "model/machine.h"
#include "probe/kernels/kernels.h"
#include "tests/toolkit/scripted_device.h"
#include "toolkit/profiles.h"

namespace assay::toolkit {
namespace {

using test::ScriptedDevice;

hwdesc::Target target(const char* profile) { return *target_of(*load_profile(profile), ""); }

std::unique_ptr<HostState> pace_on(ScriptedDevice& device) {
  Result<std::unique_ptr<HostState>> pace =
      HostState::load(device, target("generic/x86-avx512-2core"), "");
  EXPECT_TRUE(pace.ok());
  return std::move(*pace);
}

TEST(HostState, IsMeasuredByTheFastestBurstSoFar) {
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

TEST(HostState, WaitsUntilTheMachineIsBackAndNotLonger) {
  ScriptedDevice device({1e-4, 2e-4, 2e-4, 1e-4, 2e-4});
  const auto pace = pace_on(device);
  EXPECT_FALSE(*pace->slow(nullptr));
  EXPECT_TRUE(pace->wait(nullptr).empty());
  EXPECT_EQ(device.script.asked, 4u);
}

TEST(HostState, PatienceEnds) {
  ScriptedDevice device({1e-4, 2e-4});
  const auto pace = pace_on(device);
  EXPECT_FALSE(*pace->slow(nullptr));
  EXPECT_TRUE(pace->wait(nullptr).empty());
  EXPECT_GT(device.script.asked, 5u);
  EXPECT_LT(device.script.asked, 100u);
}

TEST(HostState, WhoHasNoPatienceLeftStillLooks) {
  hwdesc::Target near = target("generic/x86-avx512-2core");
  for (hwdesc::MemoryLevel& l : near.profile.memory)
    if (l.name == "l2") l.bandwidth.dirty_remote_read.value = hwdesc::Bandwidth{10e9, ""};
  ScriptedDevice device({1e-4, 1e-5, 4e-5, 1e-5, 4e-5, 1e-5, 4e-5, 1e-4, 1e-5, 1.2e-5});
  const Result<std::unique_ptr<HostState>> pace = HostState::load(device, near, "", {0, 0});
  ASSERT_TRUE(pace.ok());
  EXPECT_TRUE((*pace)->wait(nullptr).empty());
  EXPECT_TRUE((*pace)->was_cross_die());
  EXPECT_EQ((*pace)->looks(), 1);
  EXPECT_TRUE((*pace)->wait(nullptr).empty());
  EXPECT_FALSE((*pace)->was_cross_die());
  EXPECT_EQ((*pace)->looks(), 2);
}

// Bursts and what is handed over, against what the profile says; 1 where both are as they were.
TEST(HostState, SaysHowMuchOfTheProfilesRatesThereIs) {
  hwdesc::Target as_now = target("generic/x86-avx512-2core");
  EXPECT_FALSE(was_probed(as_now)) << "of the library";
  for (hwdesc::Pipe& p : as_now.profile.pipes) p.rate.source = hwdesc::Origin::measured;
  EXPECT_TRUE(was_probed(as_now));
  for (hwdesc::MemoryLevel& l : as_now.profile.memory)
    if (l.name == "l2") l.bandwidth.dirty_remote_read.value = hwdesc::Bandwidth{10e9, ""};
  ScriptedDevice device({3e-4, 1e-4, 2e-4, 5e-5});
  const Result<std::unique_ptr<HostState>> loaded = HostState::load(device, as_now, "");
  ASSERT_TRUE(loaded.ok());
  HostState& pace = **loaded;
  const Result<AsProbed> now = as_probed(pace, as_now, nullptr);
  ASSERT_TRUE(now.ok());
  EXPECT_EQ(device.script.asked, 10u)
      << "three bursts, what is handed over, three looks at the last cache on either side";
  EXPECT_EQ(now->elsewhere, 1) << "every launch takes as long";
  const double fastest = 20'000.0 * probe::op_steps("fma", 12, false) / 1e-4;
  EXPECT_NEAR(now->multiply_adds, fastest / model::prepare(as_now)->fma_rate.value, 1e-9)
      << "the fastest burst of three";
  const double part = 5e-5 * now->dirty_remote_read * 10e9;  // bytes that took 50 us
  EXPECT_GT(part, 0.2 * as_now.profile.memory[1].capacity.value->v);
  EXPECT_LE(part, 0.5 * as_now.profile.memory[1].capacity.value->v);
}

// A burst, and three looks at the last cache on either side: first a unit's own, then what the
// other one has read.
TEST(HostState, WaitsUntilUnitsAreAsNearAsTheProfileSays) {
  hwdesc::Target near = target("generic/x86-avx512-2core");
  for (hwdesc::MemoryLevel& l : near.profile.memory)
    if (l.name == "l2") l.bandwidth.dirty_remote_read.value = hwdesc::Bandwidth{10e9, ""};
  ScriptedDevice device({1e-4, 1e-5, 4e-5, 1e-5, 4e-5, 1e-5, 4e-5, 1e-4, 1e-5, 1.2e-5});
  const Result<std::unique_ptr<HostState>> loaded = HostState::load(device, near, "");
  ASSERT_TRUE(loaded.ok());
  HostState& pace = **loaded;
  EXPECT_FALSE(pace.was_cross_die());
  EXPECT_EQ(pace.part_cross_die(), 0);
  EXPECT_TRUE(pace.wait(nullptr).empty());
  EXPECT_EQ(device.script.asked, 14u) << "twice";
  EXPECT_FALSE(pace.was_cross_die());
  EXPECT_EQ(pace.looks(), 2);
  EXPECT_DOUBLE_EQ(pace.part_cross_die(), 0.5);

  for (hwdesc::MemoryLevel& l : near.profile.memory)
    if (l.name == "l3") l.per = near.profile.memory[1].per;
  ScriptedDevice always({1e-4, 1e-5, 4e-5});
  const Result<std::unique_ptr<HostState>> apart = HostState::load(always, near, "");
  ASSERT_TRUE(apart.ok());
  EXPECT_FALSE(*(*apart)->apart(nullptr)) << "so they were when they were probed";
  EXPECT_EQ(always.script.asked, 0u);
}

TEST(HostState, LikenessFallsWithWhatIsSlowerAndOnlyThatIsSaid) {
  EXPECT_EQ(likeness({1, 1}), 1);
  EXPECT_EQ(likeness({0.9, 0}), 1) << "what is not told is no difference";
  EXPECT_LT(likeness({0.5, 1}), 1);
  EXPECT_LT(likeness({0.5, 0.5}), likeness({0.5, 1}));
  EXPECT_TRUE(differences({1, 1}).empty());
  EXPECT_TRUE(differences({}).empty());
  ASSERT_EQ(differences({0.5, 1}).size(), 1u);
  EXPECT_EQ(differences({0.5, 1})[0].severity, Severity::warning);
  EXPECT_NE(render(differences({1, 0.4})).find("further apart than when they were probed"),
            std::string::npos);
  EXPECT_NE(render(differences({1.3, 2})).find("ran them further apart"), std::string::npos);
  EXPECT_EQ(differences({1.3, 2}).size(), 2u);
}

TEST(HostState, UnitsOnDiesOfTheirOwnAreSaidToBe) {
  EXPECT_TRUE(as_near_as_probed({0.5, 1, 1, 1.2})) << "slow, but as near";
  EXPECT_TRUE(as_near_as_probed({}));
  EXPECT_FALSE(as_near_as_probed({1, 1, 1, 4}));
  EXPECT_FALSE(as_near_as_probed({1, 0.5, 1, 1}));
  EXPECT_FALSE(as_near_as_probed({1, 2, 1, 1}));
  EXPECT_TRUE(differences({1, 1, 1, 1.2}).empty());
  EXPECT_EQ(likeness({1, 1, 1, 1.2}), 1);
  EXPECT_LT(likeness({1, 1, 1, 4}), 1);
  ASSERT_EQ(differences({1, 1, 1, 4}).size(), 1u);
  EXPECT_NE(render(differences({1, 1, 1, 4})).find("4.0 times"), std::string::npos);
}

// What units hand over, and the last cache where they have one each; nothing else of the profile.
TEST(HostState, TheProfileAsNearAsUnitsAreNow) {
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
  EXPECT_EQ(as_near_as_now(p, {}), p);
  EXPECT_EQ(as_near_as_now(p, {0.5, 1, 1, 1}), p) << "the units' own pace is left";
  const hwdesc::Profile slower = as_near_as_now(p, {1, 0.5, 0.25, 1.1});
  EXPECT_DOUBLE_EQ(slower.memory[1].bandwidth.dirty_remote_read.value->v, 25e9);
  EXPECT_DOUBLE_EQ(slower.memory[1].bandwidth.dirty_remote_rfo.value->v, 20e9);
  EXPECT_DOUBLE_EQ(slower.memory[1].bandwidth.upgrade.value->v, 2.25e9);
  EXPECT_EQ(slower.memory[2], l3);
  const hwdesc::Profile apart = as_near_as_now(p, {1, 1, 1, 4});
  EXPECT_EQ(apart.memory[2].per, l2.per);
  EXPECT_DOUBLE_EQ(apart.memory[2].bandwidth.read.value->v, 120e9) << "what one unit alone reaches";
  EXPECT_EQ(apart.memory[1], l2);
}

TEST(HostState, ThreadsOfLanesHaveNone) {
  ScriptedDevice device({1e-4});
  const auto pace = HostState::load(device, target("nvidia/rtx-3090"), "");
  ASSERT_TRUE(pace.ok());
  EXPECT_EQ(*pace, nullptr);
  EXPECT_TRUE(device.loaded.empty());
}

}  // namespace
}  // namespace assay::toolkit
