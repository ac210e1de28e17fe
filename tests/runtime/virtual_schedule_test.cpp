// Queues of simulated units: values in the order that a schedule says, and times by hand.
#include <gmock/gmock.h>

#include <map>

#include "runtime/schedule.h"
#include "tests/runtime/virtual_plans.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ir::Command;
using test::barrier;
using test::run;
using test::signal;
using test::wait;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kLength = 5000;                                         // of a chain
constexpr double kChain = 4.0 * kLength, kChainOfWaves = 24.0 * kLength;  // ticks of a group

// Steps on ranges of units, some in two commands. Each waits for the one that it reads: at a
// barrier, or for signals of that one's units.
std::vector<Command> drawn_schedule(const Plan& plan, int units, std::mt19937& rng) {
  std::vector<Command> out;
  std::vector<int> signals(plan.steps.size(), 0);
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const Plan::Step& step = plan.steps[static_cast<size_t>(s)];
    const auto range = [&] {
      const int first = static_cast<int>(rng() % static_cast<unsigned>(units));
      return std::pair{first,
                       first + 1 + static_cast<int>(rng() % static_cast<unsigned>(units - first))};
    };
    const int64_t groups = plan.kernels[static_cast<size_t>(step.kernel)].groups,
                  cut = rng() % 2 == 0 ? groups : static_cast<int64_t>(rng()) % (groups + 1);
    const bool at_barrier = rng() % 4 == 0 && step.input >= 0;
    if (at_barrier) out.push_back(barrier(units));
    for (const auto& [begin, end] : {std::pair{int64_t{0}, cut}, {cut, groups}}) {
      if (begin == end) continue;
      const auto [first, last] = range();
      if (!at_barrier && step.input >= 0)
        out.push_back(wait(step.input, signals[static_cast<size_t>(step.input)], first, last));
      out.push_back(run(s, first, last, begin, end));
      out.push_back(signal(s, first, last));
      signals[static_cast<size_t>(s)] += last - first;
    }
  }
  out.push_back(barrier(units));
  return out;
}

RunOptions by(const std::vector<Command>& schedule, int resident = 1) {
  RunOptions out;
  out.schedule = schedule;
  out.resident = resident;
  out.traced = true;
  return out;
}

std::vector<Slice> slices_of(const RunTimes& times, int command) {
  std::vector<Slice> out;
  for (const Slice& s : times.slices)
    if (s.command == command) out.push_back(s);
  return out;
}

double ticks(double seconds) { return seconds * 1e9; }

TEST(VirtualSchedule, ValuesAreThoseOfLaunchesOneByOne) {
  std::mt19937 rng(5);
  for (const std::string& profile : {cores(), waves()}) {
    Bench bench(profile);
    ASSERT_EQ(bench.info().scheduled_units, 2);
    for (int round = 0; round < 60; ++round) {
      const Plan plan = drawn_plan(rng, bench.info().threads);
      Placed alone(bench, plan), placed(bench, plan), again(bench, plan);
      alone.run({});
      const std::vector<Command> schedule = drawn_schedule(plan, 2, rng);
      const RunOptions options = by(schedule, bench.info().threads ? 1 + round % 2 : 1);
      const RunTimes times = placed.run(options), same = again.run(options);
      ASSERT_EQ(placed.values(plan), alone.values(plan)) << "round " << round;
      ASSERT_EQ(times.total, same.total) << "equal input, equal times";
      ASSERT_EQ(times.slices, same.slices);
      std::map<int, double> now;
      for (const Slice& s : times.slices) {
        ASSERT_GE(s.begin, now[s.unit]) << "slices of a unit follow each other";
        ASSERT_GE(s.end, s.begin);
        ASSERT_LE(s.end, times.total.back());
        now[s.unit] = s.end;
      }
      ASSERT_EQ(times.steps[0].size(), plan.steps.size());
    }
  }
}

TEST(VirtualSchedule, EqualLaunchesSideBySideTakeAsLongAsOne) {
  Bench bench(cores());
  const auto module = bench.load({chain("chain", kLength, 3)});
  const int y = module->allocate(4096).value(), z = module->allocate(4096).value();
  const std::vector<Launch> launches{{0, {{y, 0}}, {}}, {0, {{z, 0}}, {}}};
  const std::vector<Command> both{run(0, 0, 1, 0, 3), run(1, 1, 2, 0, 3), barrier(2)},
      one{run(0, 0, 1, 0, 3), barrier(1)};
  const double two = ticks(module->run(launches, by(both))->total[0]);
  EXPECT_NEAR(two, 3 * kChain + 1000 + 5000, 0.02 * kChain) << "an eager launch takes 5000";
  EXPECT_NEAR(two, ticks(module->run(launches, by(one))->total[0]), 100);
  EXPECT_NEAR(ticks(module->run(launches, {})->busy[0][0]), 2 * kChain, 0.02 * kChain)
      << "a launch has both units";
}

TEST(VirtualSchedule, ASignalReachesOtherUnitsAfterABarrierOfTheChip) {
  Bench bench(cores());
  const auto module = bench.load({chain("chain", kLength, 2)});
  const int y = module->allocate(4096).value();
  const std::vector<Launch> launches{{0, {{y, 0}}, {}}, {0, {{y, 0}}, {}}};
  const std::vector<Command> schedule{run(0, 0, 1, 0, 2), signal(3, 0, 1), run(0, 0, 1, 0, 2),
                                      wait(3, 1, 1, 2), run(1, 1, 2, 0, 2)};
  const auto times = module->run(launches, by(schedule));
  ASSERT_TRUE(times.ok()) << render(times.diags());
  const Slice first = slices_of(*times, 0).at(0), waited = slices_of(*times, 3).at(0),
              second = slices_of(*times, 4).at(0);
  EXPECT_NEAR(ticks(second.begin - first.end), 1000, 1e-3);
  EXPECT_EQ(waited, (Slice{1, 3, 0, second.begin}));
  EXPECT_DOUBLE_EQ(slices_of(*times, 2).at(0).begin, first.end) << "who signals does not wait";
  EXPECT_DOUBLE_EQ(times->steps[0][1], second.end - second.begin);
}

// Memory gives 8 bytes a tick to one unit, and 10 to two.
TEST(VirtualSchedule, RunsAtOnceShareAMemory) {
  testing::Chip chip(cores());
  const int64_t blocks = 400;
  const int a = chip.buffer(blocks * 4096), b = chip.buffer(blocks * 4096);
  const BufferRange asked = chip.parameters({1, double(blocks), 0, 0});
  const std::vector<Launch> launches{chip.launch("read_16", {{a, 0}, asked}, {}),
                                     chip.launch("read_16", {{b, 0}, asked}, {})};
  const std::vector<Command> one{run(0, 0, 1, 0, 1)}, both{run(0, 0, 1, 0, 1), run(1, 1, 2, 1, 2)};
  const auto alone = chip.module().run(launches, by(one)),
             shared = chip.module().run(launches, by(both));
  ASSERT_TRUE(alone.ok() && shared.ok());
  EXPECT_NEAR(ticks(alone->steps[0][0]), blocks * 4096 / 8, 0.03 * blocks * 4096 / 8);
  for (const size_t s : {0, 1})
    EXPECT_NEAR(shared->steps[0][s] / alone->steps[0][0], 1.6, 0.05) << "launch " << s;
}

// Of four units, one reaches 0.3 of memory's 10 bytes a tick, two 0.45 and four all of them.
TEST(VirtualSchedule, OnlyUnitsAtWorkShareAMemory) {
  std::string profile = cores();
  profile.replace(profile.find("count: 2"), 8, "count: 4");
  profile.replace(profile.find("per_unit: 8 GB/s"), 16,
                  "per_unit: 3 GB/s, shape: [{units: 0.25, reaches: 0.3}, "
                  "{units: 0.5, reaches: 0.45}, {units: 1, reaches: 1}]");
  testing::Chip chip(profile);
  const int64_t blocks = 400;
  const int a = chip.buffer(blocks * 4096), b = chip.buffer(blocks * 4096);
  const BufferRange asked = chip.parameters({1, double(blocks), 0, 0, 0, 0});
  const std::vector<Launch> launches{chip.launch("read_16", {{a, 0}, asked}, {}),
                                     chip.launch("read_16", {{b, 0}, asked}, {}),
                                     chip.launch("nothing", {}, {})};
  const std::vector<Command> schedule{run(0, 0, 1, 0, 1), run(1, 1, 2, 1, 2), run(2, 2, 4, 0, 2)};
  const auto times = chip.module().run(launches, by(schedule));
  ASSERT_TRUE(times.ok()) << render(times.diags());
  for (const size_t s : {0, 1})
    EXPECT_NEAR(ticks(times->steps[0][s]), blocks * 4096 / 2.25, 0.05 * blocks * 4096 / 2.25);
}

// Launches that repeat are not simulated again, unless a schedule came between them.
TEST(VirtualSchedule, LaunchesFindTheCachesThatItLeaves) {
  testing::Chip chip(cores());
  const int a = chip.buffer(8 * 4096), b = chip.buffer(400 * 4096);
  const std::vector<Launch> launches{
      chip.launch("read_16", {{a, 0}, chip.parameters({1, 8, 0, 0})}, {{0, 0, 1}}),
      chip.launch("read_16", {{b, 0}, chip.parameters({1, 400, 0, 0})}, {})};
  double warm = 0;
  for (int i = 0; i < 4; ++i) warm = chip.ticks(launches[0]);
  const std::vector<Command> schedule{run(1, 0, 1, 0, 1)};
  ASSERT_TRUE(chip.module().run(launches, by(schedule)).ok());
  EXPECT_GT(chip.ticks(launches[0]), 2 * warm);
}

TEST(VirtualSchedule, MovedBytesAreOfEachLaunch) {
  testing::Chip chip(cores());
  const int a = chip.buffer(400 * 4096), b = chip.buffer(400 * 4096);
  const std::vector<Launch> launches{
      chip.launch("read_16", {{a, 0}, chip.parameters({1, 400, 0, 0})}, {}),
      chip.launch("write_16", {{b, 0}, chip.parameters({1, 100, 0, 0})}, {})};
  const std::vector<Command> both{run(0, 0, 1, 0, 1), run(1, 1, 2, 1, 2)};
  const auto times = chip.module().run(launches, by(both));
  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->moved.size(), 2U);
  EXPECT_NEAR(times->moved[0][1].read, 400 * 4096, 4096);
  EXPECT_NEAR(times->moved[0][1].written, 0, 1);
  EXPECT_NEAR(times->moved[1][1].written, 100 * 4096, 4096);
  EXPECT_NEAR(times->moved[1][1].read, 0, 1024) << "its parameters";
}

TEST(VirtualSchedule, GroupsThatStayShareTheGroupsOfARun) {
  Bench bench(waves());
  const auto module = bench.load({chain("chain", kLength, 4)});
  const int y = module->allocate(4096).value();
  const std::vector<Launch> launches{{0, {{y, 0}}, {}}};
  const std::vector<Command> schedule{run(0, 0, 1, 0, 4)};
  for (const auto& [resident, rounds] : {std::pair{1, 4}, {2, 2}, {3, 2}, {4, 1}, {5, 1}}) {
    const auto times = module->run(launches, by(schedule, resident));
    ASSERT_TRUE(times.ok()) << render(times.diags());
    EXPECT_NEAR(ticks(times->steps[0][0]), rounds * kChainOfWaves, 0.03 * rounds * kChainOfWaves)
        << resident << " on a unit";
  }
}

// On two of the four, they would take 1.7 times as long as one.
TEST(VirtualSchedule, GroupsThatStayAreSpreadOverPartitions) {
  Bench bench(with_api(four_partitions(), kStay));
  const auto module = bench.load({chain("chain", kLength, 8)});
  const std::vector<Launch> launches{{0, {{module->allocate(4096).value(), 0}}, {}}};
  const auto took = [&](int groups) {
    const std::vector<Command> schedule{run(0, 0, 1, 0, groups)};
    return ticks(module->run(launches, by(schedule, groups))->steps[0][0]);
  };
  EXPECT_LT(took(8), 1.2 * took(1));
}

// Of one unit: an addition in memory and a look, 300 ticks each. Of all: 4 groups, between 2 and 6.
TEST(VirtualSchedule, GroupsThatStayMeetBetweenRuns) {
  Bench bench(waves());
  const auto module = bench.load({chain("chain", kLength, 2), chain("short", kLength / 5, 2)});
  const int y = module->allocate(4096).value();
  const std::vector<Launch> launches{{0, {{y, 0}}, {}}, {1, {{y, 0}}, {}}};
  const auto between = [&](const std::vector<Command>& commands, int resident) {
    std::vector<Command> schedule{run(0, 0, 1, 0, 2)};
    schedule.insert(schedule.end(), commands.begin(), commands.end());
    schedule.push_back(run(1, 0, 1, 0, 2));
    const auto times = module->run(launches, by(schedule, resident));
    if (!times.ok()) throw std::runtime_error(render(times.diags()));
    return ticks(slices_of(*times, static_cast<int>(schedule.size()) - 1).at(0).begin -
                 slices_of(*times, 0).at(0).end);
  };
  const Command busy = run(1, 1, 2, 0, 2);
  EXPECT_NEAR(between({busy}, 1), 0, 1e-3);
  EXPECT_NEAR(between({busy}, 2), 600, 1e-3);
  EXPECT_NEAR(between({busy, barrier(2)}, 2), 2000, 1e-3);
  EXPECT_NEAR(between({busy, barrier(2)}, 1), 1000, 1e-3);
  EXPECT_NEAR(between({busy, barrier(2)}, 4), 3000, 1e-3) << "more groups than the profile knows";
}

// Of the two on unit 0, one has two groups.
TEST(VirtualSchedule, AUnitSignalsWhenItsLastGroupHasCome) {
  Bench bench(waves());
  const auto module = bench.load({chain("chain", kLength, 3)});
  const int y = module->allocate(4096).value();
  const std::vector<Launch> launches{{0, {{y, 0}}, {}}, {0, {{y, 0}}, {}}};
  const std::vector<Command> schedule{run(0, 0, 1, 0, 3), signal(0, 0, 1), wait(0, 1, 1, 2),
                                      run(1, 1, 2, 0, 3)};
  const auto times = module->run(launches, by(schedule, 2));
  ASSERT_TRUE(times.ok()) << render(times.diags());
  EXPECT_NEAR(ticks(times->steps[0][0]), 2 * kChainOfWaves, 0.05 * kChainOfWaves);
  EXPECT_NEAR(ticks(slices_of(*times, 3).at(0).begin - slices_of(*times, 0).at(0).end), 2000, 1e-3);
}

std::string refused(Bench& bench, const std::vector<ir::Kernel>& kernels,
                    const std::vector<Command>& schedule, int resident) {
  const auto module = bench.load(kernels);
  std::vector<Launch> launches;
  for (int k = 0; k < static_cast<int>(kernels.size()); ++k) {
    launches.push_back({k, {}, {}});
    for (const ir::Buffer& b : kernels[static_cast<size_t>(k)].buffers)
      if (b.scope == ir::Scope::global)
        launches.back().arguments.push_back({module->allocate(1 << 16).value(), 0});
  }
  const auto beforehand = module->prepare(launches, by(schedule, resident));
  const auto times = module->run(launches, by(schedule, resident));
  if (!beforehand.ok() || times.ok()) return "ran";
  EXPECT_THAT(render(times.diags()), HasSubstr(beforehand->reason));
  return render(times.diags());
}

TEST(VirtualSchedule, WhatDoesNotFitIsRefused) {
  Bench core(cores()), wave(waves()), bare(kSmallChip), no_barrier(kSmallWaves);
  std::string few = waves();
  few.insert(few.find("resident: {per"), "registers: {per: unit, count: 640}\n  ");
  Bench registers(few);
  const std::vector<ir::Kernel> two{chain("light", 16, 2), chain("heavy", 16, 2, 1536)};
  const std::vector<Command> all{run(0, 0, 2, 0, 2)};
  EXPECT_EQ(bare.info().scheduled_units, 0);
  EXPECT_EQ(no_barrier.info().scheduled_units, 0);
  EXPECT_THAT(refused(bare, two, all, 1), HasSubstr("apis.cpp.coresident_groups: true and "
                                                    "apis.cpp.device_barrier"));
  EXPECT_THAT(refused(no_barrier, two, all, 1), HasSubstr("apis.opencl.coresident_barrier"));
  EXPECT_THAT(refused(core, two, all, 2), HasSubstr("runs one group at a time"));
  EXPECT_EQ(refused(core, two, all, 1), "ran");
  EXPECT_EQ(refused(wave, two, all, 5), "ran");
  EXPECT_THAT(refused(wave, two, all, 6),
              AllOf(HasSubstr("5 of the schedule's groups fit"), HasSubstr("resident: 6"),
                    HasSubstr("kernel 'heavy' needs 6144 bytes of group memory")));
  EXPECT_THAT(refused(wave, {chain("light", 16, 2), rotate(1, 2, 7)}, all, 2),
              HasSubstr("kernel 'rotate' needs 112 threads"));
  EXPECT_THAT(refused(registers, {chain("light", 16, 2)}, all, 5),
              HasSubstr("kernel 'light' needs"));
}

TEST(VirtualSchedule, WhatCanNotEndIsAnError) {
  Bench bench(cores());
  const std::vector<ir::Kernel> one{chain("chain", 16, 2)};
  const auto module = bench.load(one);
  const std::vector<Launch> launches{{0, {{module->allocate(4096).value(), 0}}, {}}};
  const auto said = [&](const std::vector<Command>& schedule, RunOptions options = {}) {
    options.schedule = schedule;
    const auto times = module->run(launches, options);
    return times.ok() ? std::string("ok") : render(times.diags());
  };
  EXPECT_THAT(said({run(0, 0, 3, 0, 2)}), HasSubstr("units 0 to 3, there are 2"));
  EXPECT_THAT(said({wait(0, 1, 0, 1), run(0, 0, 1, 0, 2)}), HasSubstr("unit 0 waits for ever"));
  RunOptions recorded;
  recorded.recorded = true;
  EXPECT_THAT(said({run(0, 0, 1, 0, 2)}, recorded), HasSubstr("nothing to record"));
  const std::vector<std::vector<int>> phases{{0}};
  RunOptions phased;
  phased.phases = phases;
  EXPECT_THAT(said({run(0, 0, 1, 0, 2)}, phased), HasSubstr("not both"));
  EXPECT_EQ(said({run(0, 0, 1, 0, 2)}), "ok");
}

}  // namespace
}  // namespace assay::runtime
