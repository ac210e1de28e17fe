// Phases on simulated chips: launches between two barriers, merged or beside each other.
#include <gmock/gmock.h>

#include "runtime/schedule.h"
#include "tests/runtime/virtual_plans.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kLength = 5000;
constexpr double kChain = 24.0 * kLength;  // ticks of a group

std::string beside(const std::string& time = "1 us") {
  std::string profile = slow_waves();
  return profile.insert(profile.rfind("stream:"), "beside: " + time + ", ");
}

RunOptions in(const std::vector<std::vector<int>>& phases) {
  RunOptions out;
  out.phases = phases;
  return out;
}

double ticks(double seconds) { return seconds * 1e9; }

// Steps that read what earlier phases wrote, in a drawn order.
std::vector<std::vector<int>> drawn_phases(const Plan& plan, std::mt19937& rng) {
  std::vector<std::vector<int>> out;
  std::vector<size_t> of;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const int input = plan.steps[s].input;
    of.push_back((input < 0 ? 0 : of[static_cast<size_t>(input)] + 1) + (rng() % 3 == 0 ? 1 : 0));
    if (out.size() <= of.back()) out.resize(of.back() + 1);
    out[of.back()].push_back(static_cast<int>(s));
  }
  std::erase_if(out, [](const auto& phase) { return phase.empty(); });
  for (std::vector<int>& phase : out) std::shuffle(phase.begin(), phase.end(), rng);
  return out;
}

TEST(VirtualPhases, ValuesAreThoseOfLaunchesOneByOne) {
  std::mt19937 rng(6);
  for (const bool merges : {true, false}) {
    Bench bench(beside(), merges);
    for (int round = 0; round < 60; ++round) {
      const Plan plan = drawn_plan(rng, true);
      Placed alone(bench, plan), placed(bench, plan), again(bench, plan);
      alone.run({});
      const std::vector<std::vector<int>> phases = drawn_phases(plan, rng);
      const RunTimes times = placed.run(in(phases)), same = again.run(in(phases));
      ASSERT_EQ(placed.values(plan), alone.values(plan)) << "round " << round;
      ASSERT_EQ(times.total, same.total) << "equal input, equal times";
      ASSERT_EQ(times.steps[0].size(), phases.size());
      ASSERT_EQ(times.busy[0].size(), phases.size());
      ASSERT_EQ(times.moved.size(), plan.steps.size());
    }
  }
}

TEST(VirtualPhases, APhaseIsOneLaunch) {
  Bench bench(slow_waves());
  const auto module = bench.load({chain("chain", kLength, 2)});
  std::vector<Launch> launches;
  for (int l = 0; l < 4; ++l) launches.push_back({0, {{module->allocate(4096).value(), 0}}, {}});
  const auto turn = module->run(launches, {}), together = module->run(launches, in({{0, 1, 2, 3}})),
             pairs = module->run(launches, in({{0, 1}, {3, 2}}));
  ASSERT_TRUE(turn.ok() && together.ok() && pairs.ok());
  // 8 groups find 2 units with room for 8 each: they take as long as one.
  EXPECT_NEAR(ticks(together->busy[0][0]), kChain, 0.02 * kChain);
  EXPECT_NEAR(ticks(turn->total[0] - together->total[0]), 3 * (5000 + kChain), 0.05 * kChain);
  EXPECT_NEAR(ticks(turn->total[0] - pairs->total[0]), 2 * (5000 + kChain), 0.05 * kChain);
  EXPECT_NEAR(ticks(together->steps[0][0] - together->busy[0][0]), 15000, 1) << "eager";
  EXPECT_NEAR(ticks(pairs->steps[0][1] - pairs->busy[0][1]), 5000, 1);
  const auto alone = module->run(launches, in({{0}, {1}, {2}, {3}}));
  EXPECT_EQ(alone->total, turn->total);
}

// 16 KiB of group memory: two such groups fit a unit, and eight of the others.
TEST(VirtualPhases, MergedGroupsNeedWhatTheHungriestNeeds) {
  const std::vector<ir::Kernel> kernels{chain("hungry", kLength, 2, 4096),
                                        chain("light", kLength, 14)};
  for (const bool merges : {true, false}) {
    Bench bench(beside(), merges);
    const auto module = bench.load(kernels);
    const std::vector<Launch> launches{{0, {{module->allocate(4096).value(), 0}}, {}},
                                       {1, {{module->allocate(4096).value(), 0}}, {}}};
    const auto times = module->run(launches, in({{0, 1}}));
    ASSERT_TRUE(times.ok());
    if (merges)
      EXPECT_NEAR(ticks(times->busy[0][0]), 4 * kChain, 0.1 * kChain) << "16 groups, 4 at once";
    else
      EXPECT_NEAR(ticks(times->busy[0][0]), 1000 + kChain, 0.1 * kChain)
          << "the second launch begins 1000 ticks later";
  }
}

TEST(VirtualPhases, GroupsOfALaterLaunchBeginLater) {
  const auto busy = [](const std::string& time) {
    Bench bench(beside(time), false);
    const auto module = bench.load({chain("chain", kLength, 2)});
    std::vector<Launch> launches;
    for (int l = 0; l < 3; ++l) launches.push_back({0, {{module->allocate(4096).value(), 0}}, {}});
    return ticks(module->run(launches, in({{0, 1, 2}}))->busy[0][0]);
  };
  EXPECT_NEAR(busy("5 us") - busy("1 us"), 2 * 4000, 100);
}

// Four groups keep two partitions less busy than they wait; eight would take 1.7 times as long.
TEST(VirtualPhases, GroupsAreSpreadOverUnitsAndPartitions) {
  const auto busy = [](const std::string& profile, int64_t groups) {
    Bench bench(profile);
    const auto module = bench.load({chain("chain", kLength, groups / 2)});
    std::vector<Launch> launches;
    for (int l = 0; l < 2; ++l) launches.push_back({0, {{module->allocate(4096).value(), 0}}, {}});
    return ticks(module->run(launches, in({{0, 1}}))->busy[0][0]);
  };
  EXPECT_LT(busy(kSmallWaves, 8), 1.2 * busy(kSmallWaves, 2));
  EXPECT_LT(busy(four_partitions(), 16), 1.2 * busy(four_partitions(), 2));
}

// A group of the first launch that ends makes room for one of the second.
TEST(VirtualPhases, GroupsGoWhereRoomIs) {
  Bench bench(beside(), false);
  const auto module = bench.load({chain("long", 3 * kLength, 1), chain("short", kLength, 15 + 14)});
  const std::vector<Launch> launches{{0, {{module->allocate(4096).value(), 0}}, {}},
                                     {1, {{module->allocate(4096).value(), 0}}, {}}};
  const auto times = module->run(launches, in({{0, 1}}));
  ASSERT_TRUE(times.ok());
  EXPECT_NEAR(ticks(times->busy[0][0]), 3 * kChain, 0.1 * kChain);
}

TEST(VirtualPhases, LaunchesOfAPhaseShareMemory) {
  Bench bench(kSmallWaves);
  const int64_t n = 1 << 16;
  const auto module = bench.load({copy(n)});
  std::vector<Launch> launches;
  for (int l = 0; l < 2; ++l)
    launches.push_back(
        {0, {{module->allocate(n * 4).value(), 0}, {module->allocate(n * 4).value(), 0}}, {}});
  const auto turn = module->run(launches, {}), together = module->run(launches, in({{0, 1}}));
  ASSERT_TRUE(turn.ok() && together.ok());
  EXPECT_NEAR(together->busy[0][0], turn->busy[0][0] + turn->busy[0][1], 0.05 * turn->total[0])
      << "both are bound by the same memory";
  for (size_t l = 0; l < 2; ++l)
    EXPECT_NEAR(together->moved[l][0].read + together->moved[l][0].written,
                turn->moved[l][0].read + turn->moved[l][0].written, 4096);
}

TEST(VirtualPhases, WhatDoesNotRunInPhasesIsRefused) {
  const auto said = [](Bench& bench, const std::vector<std::vector<int>>& phases) {
    const auto module = bench.load({chain("chain", 16, 2)});
    const std::vector<Launch> launches(2, {0, {{module->allocate(4096).value(), 0}}, {}});
    const auto beforehand = module->prepare(launches, in(phases));
    const auto times = module->run(launches, in(phases));
    EXPECT_EQ(times.ok() || !check_phases(phases, 2).empty(), beforehand->reason.empty());
    return times.ok() ? std::string("ran") : render(times.diags());
  };
  Bench merged(kSmallWaves), bare(kSmallWaves, false), own(beside(), false), core(kSmallChip);
  EXPECT_EQ(said(merged, {{0, 1}}), "ran");
  EXPECT_EQ(said(own, {{0, 1}}), "ran");
  EXPECT_THAT(said(bare, {{0, 1}}), HasSubstr("apis.opencl.launch.beside"));
  EXPECT_THAT(said(core, {{0, 1}}), HasSubstr("units of vectors"));
  EXPECT_THAT(said(merged, {{0}}), HasSubstr("launch 1 is in none"));
  EXPECT_TRUE(own.info().phased);
  EXPECT_FALSE(core.info().phased);
}

TEST(CheckPhases, EachLaunchIsInOne) {
  using Phases = std::vector<std::vector<int>>;
  const auto said = [](const Phases& phases) { return render(check_phases(phases, 3)); };
  EXPECT_EQ(said({{1}, {}, {0, 2}}), "");
  EXPECT_THAT(said({{1}, {0}}), HasSubstr("launch 2 is in none of 2 phases"));
  EXPECT_THAT(said({{1}, {0, 2, 1}}), HasSubstr("phase 1: launch 1 is in phase 0 already"));
  EXPECT_THAT(said({{0, 1}, {2, 3, -1}}), AllOf(HasSubstr("phase 1: there is no launch 3"),
                                                HasSubstr("phase 1: there is no launch -1")));
}

}  // namespace
}  // namespace assay::runtime
