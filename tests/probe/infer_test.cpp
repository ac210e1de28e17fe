// A made-up machine's observations give its numbers back; what is missing becomes unknown.
#include "probe/infer.h"

#include <gtest/gtest.h>

#include <set>

#include "hwdesc/check.h"
#include "hwdesc/print.h"
#include "probe/kernels.h"
#include "synthetic.h"

namespace assay::probe {
namespace {

using test::block;

constexpr double kKiB = 1024, kMiB = 1024 * 1024, kClock = 3e9;

// 4 units at 3 GHz (2.5 GHz under 16-lane multiply-adds), two multiply-adds of 16 lanes per tick.
Observations made_machine() {
  Observations o;
  o.facts = {{"name", "Made (R) Up"}, {"cpu", "Made Up"}, {"api", "cpp"}, {"units", "4"}, {"isa", "avx512f"}, {"memory_bytes", "8589934592"}};
  o.points = test::chase_observations({{48 * kKiB, 5 / kClock, 0}, {1 * kMiB, 15 / kClock, 0}, {16 * kMiB, 60 / kClock, 0}, {0, 100e-9, 0}}, 0.005, 5);
  o.points.push_back(block("clock", "sentinel", {}, 1 / kClock));
  for (const int lanes : kLanes) {
    const double clock = lanes == 16 ? 2.5e9 : kClock;
    o.points.push_back(block("clock", "fma", {{"lanes", lanes}}, 1 / clock));
    o.points.push_back(block("clock", "read", {{"lanes", lanes}}, 1 / kClock));
    for (const int c : kFmaChains) {
      o.points.push_back(block("fma", "fma", {{"lanes", lanes}, {"chains", c}}, std::max(0.5, 4.0 / c) / clock));
      o.points.push_back({"fma", "stack", {{"lanes", lanes}, {"chains", c}}, "B", {c >= 32 ? 136.0 : 8.0}, {}, 0, {}});
    }
  }
  o.points.push_back(block("access", "read", {{"lanes", 16}}, 1 / (128 * kClock)));
  o.points.push_back(block("operations", "div", {{"lanes", 16}, {"chains", 1}}, 17 / 2.5e9));
  o.points.push_back(block("operations", "div", {{"lanes", 16}, {"chains", 10}}, 16 / 2.5e9));
  o.points.push_back(block("sustained", "fma", {{"lanes", 16}, {"units", 4}}, 1 / 2.4e9));
  for (const double n : {1, 2, 4}) o.points.push_back(block("units", "fma", {{"units", n}}, 1e-10));
  for (const double d : {8, 16, 32, 64, 128}) o.points.push_back(block("line", "pair", {{"distance", d}}, d < 64 ? 10e-9 : 15e-9));
  for (const double level : {0, 1, 2})
    for (const double n : {1, 4})
      for (int i = 0; i < 3; ++i)
        o.points.push_back(block("sharing", "chase", {{"level", level}, {"units", n}}, n == 4 && level == 2 ? 2e-8 : 1e-8));
  for (const double n : {1, 2, 3, 4}) o.points.push_back(block("far", "read", {{"level", 3}, {"units", n}, {"bytes", 1e8}}, 1 / std::min(n * 15e9, 40e9)));
  return o;
}

hwdesc::Profile inferred(const Observations& o) {
  auto p = infer(o);
  EXPECT_TRUE(p.ok());
  return p.value();
}

TEST(Infer, GivesTheMachineBack) {
  const hwdesc::Profile p = inferred(made_machine());
  EXPECT_EQ(p.name, "made-r-up");
  EXPECT_NEAR(p.clocks.at(0).max.value->v, kClock, 1e7);
  EXPECT_NEAR(p.clocks.at(0).sustained.at(0).second.value->v, 2.4e9, 1e7);
  EXPECT_EQ(p.topology.at(0).count.value->v, 4);
  ASSERT_EQ(p.execution.lanes.modes.size(), 3u);
  EXPECT_EQ(p.execution.registers.count.value->v, 32);
  EXPECT_NEAR(p.pipes.at(0).rate.value->v, 32, 0.2);      // by the clock under that load
  EXPECT_NEAR(p.pipes.at(1).rate.value->v, 32, 0.2);
  EXPECT_NEAR(p.compute.at(0).latency.value->v, 4, 0.02);
  EXPECT_NEAR(p.compute.at(1).latency.value->v, 17, 0.1);
  EXPECT_NEAR(p.compute.at(1).slots.value->v, 32, 0.5);
}

TEST(Infer, GivesTheMemoryBack) {
  const hwdesc::Profile p = inferred(made_machine());
  ASSERT_EQ(p.memory.size(), 4u);
  EXPECT_EQ(p.memory[0].name, "l1");
  EXPECT_EQ(p.memory[3].name, "dram");
  EXPECT_EQ(p.memory[1].per, "unit");
  EXPECT_EQ(p.memory[2].per, "device");
  EXPECT_NEAR(p.memory[0].latency.value->v, 5, 0.1);
  EXPECT_NEAR(p.memory[3].latency.value->v, 100e-9, 3e-9);
  EXPECT_NEAR(std::log2(p.memory[1].capacity.value->v / kMiB), 0, 0.25);
  EXPECT_EQ(p.memory[0].line.value->v, 64);
  EXPECT_NEAR(p.memory[3].bandwidth.read.value->v, 40e9, 2e9);
  EXPECT_TRUE(p.memory[3].bandwidth.sharpness.known());
}

// Footprints that may fit into one cache together prove nothing; larger ones do.
TEST(Infer, ACacheIsPrivateOnlyIfAllUnitsTogetherNeedMoreThanOneHolds) {
  const auto with = [](double bytes) {
    Observations o = made_machine();
    o.facts.insert(o.facts.end(), {{"class", "cpu"}, {"declared.l3", "16384K, shared by CPUs 0-3, line 64"}});
    std::erase_if(o.points, [](const Observation& p) { return p.experiment == "sharing" && p.at.at("level") == 2; });
    for (const double n : {1, 4}) o.points.push_back(block("sharing", "chase", {{"level", 2}, {"units", n}, {"bytes", bytes}}, 1e-8));
    return inferred(o).memory.at(2).per;
  };
  EXPECT_EQ(with(3 * kMiB), "device") << "as declared";
  EXPECT_EQ(with(11 * kMiB), "unit") << "44 MiB in a cache of 16";
}

// A level is as fast as the footprint that shows it fastest.
TEST(Infer, OfSeveralFootprintsTheFastestCounts) {
  Observations o = made_machine();
  const auto add = [&](double bytes, double per_tick) {
    o.points.push_back(block("bandwidth", "read", {{"level", 1}, {"units", 1}, {"lanes", 16}, {"bytes", bytes}}, 1 / (per_tick * kClock)));
    o.points.back().clock_hz = kClock;
  };
  add(176 * kKiB, 32);
  add(600 * kKiB, 54);
  const auto read = inferred(o).memory.at(1).bandwidth.read;
  EXPECT_NEAR(read.value->v, 54, 0.5);
  EXPECT_NE(read.method.find("600 KiB"), std::string::npos) << read.method;
}

TEST(Infer, AGroupsOwnMemoryLiesWhereTheDriverSays) {
  Observations o = made_machine();
  o.facts.insert(o.facts.end(), {{"group_memory", "65536"}, {"group_memory_type", "global"}});
  o.points.push_back(block("group_memory", "chase", {{"bytes", 16384}}, 7 / kClock));
  o.points.back().clock_hz = kClock;
  o.points.push_back(block("group_memory", "read", {{"bytes", 16384}}, 1 / (64 * kClock)));
  o.points.back().clock_hz = kClock;
  const hwdesc::MemoryLevel own = inferred(o).memory.at(0);
  EXPECT_EQ(own.name, "local");
  EXPECT_EQ(own.managed, hwdesc::Managed::explicit_);
  EXPECT_EQ(own.backed_by, "dram");
  EXPECT_EQ(own.capacity.value->v, 65536);
  EXPECT_NEAR(own.latency.value->v, 7, 0.1);
  EXPECT_NEAR(own.bandwidth.read.value->v, 64, 1);
  o.facts.back().second = "on chip";
  EXPECT_EQ(inferred(o).memory.at(0).backed_by, "");
  EXPECT_EQ(inferred(made_machine()).memory.at(0).name, "l1") << "none where no driver says so";
}

TEST(Infer, AStepInOneKernelIsABarrierAndALaunchAStep) {
  Observations o = made_machine();
  o.points.push_back(block("launch", "step", {{"units", 4}}, 3e-6));
  EXPECT_FALSE(inferred(o).apis.at(0).device_barrier.known()) << "of a driver every step is a launch";
  o.points.push_back(block("launch", "barrier", {{"units", 4}}, 2e-7));
  const hwdesc::Api api = inferred(o).apis.at(0);
  EXPECT_NEAR(api.launch.stream.value->v, 3e-6, 1e-8);
  EXPECT_NEAR(api.device_barrier.value->v, 2e-7, 1e-9);
}

// Crowding seen only while others used the machine decides nothing: the declared sharing stands in.
TEST(Infer, OthersDoNotMakeACacheShared) {
  Observations o = made_machine();
  o.facts.emplace_back("class", "cpu");
  o.facts.emplace_back("declared.l3", "16384K, shared by CPUs 0, line 64 B");
  for (Observation& p : o.points)
    if (p.experiment == "sharing") p.foreign = 0.5;
  const hwdesc::Profile p = inferred(o);
  EXPECT_EQ(p.memory[1].per, "unit");
  EXPECT_EQ(p.memory[2].per, "unit");
  EXPECT_NE(p.memory[2].capacity.note.find("as the system declares"), std::string::npos);
}

TEST(Infer, PassesTheCheckAndIsTheSameEveryTime) {
  const hwdesc::Profile p = inferred(made_machine());
  EXPECT_FALSE(has_error(hwdesc::check(p))) << render(hwdesc::check(p));
  EXPECT_EQ(hwdesc::print_profile(p), hwdesc::print_profile(inferred(made_machine())));
}

TEST(Infer, WhatIsMissingIsUnknownAndSaysWhy) {
  Observations o;
  o.points.push_back(block("clock", "sentinel", {}, 1 / kClock));
  const hwdesc::Profile p = inferred(o);
  EXPECT_TRUE(p.memory.empty());
  EXPECT_FALSE(p.execution.issue.rate.known());
  EXPECT_FALSE(p.execution.issue.rate.note.empty());
  EXPECT_FALSE(p.topology.at(0).count.known());
}

TEST(Infer, NothingIsAnError) { EXPECT_FALSE(infer({}).ok()); }

TEST(Infer, ALoadedClockThatIsAnInterruptionIsNotReported) {
  Observations o;
  o.points.push_back(block("clock", "sentinel", {}, 1 / kClock));
  o.points.push_back(block("sustained", "fma", {{"lanes", 16}}, 10 / kClock));
  EXPECT_FALSE(inferred(o).clocks.at(0).sustained.at(0).second.known());
}

TEST(Kernels, AllAreWellFormedAndDistinct) {
  std::set<std::string> names;
  for (const ir::Kernel& k : all_kernels()) {
    EXPECT_TRUE(ir::verify(k).empty()) << render(ir::verify(k));
    EXPECT_TRUE(names.insert(k.name).second) << k.name;
  }
}

}  // namespace
}  // namespace assay::probe
