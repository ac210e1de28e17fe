// Observations of a synthetic machine give its numbers back; what is missing becomes unknown.
#include "probe/inference/infer.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "hwdesc/check.h"
#include "hwdesc/print.h"
#include "probe/inference/known.h"
#include "probe/inference/ticks.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/kernels/straight_line_code.h"
#include "tests/probe/synthetic_machine.h"

namespace assay::probe {
namespace {

using test::block;
using test::inferred;
using test::kClock;
using test::synthetic_machine;

// A frame of 8 bytes becomes one of 32 when a vector of 32 bytes is added.
TEST(Infer, ASpilledVectorIsOneWhateverTheFrame) {
  Observations o = synthetic_machine();
  std::erase_if(o.points, [](const Observation& b) {
    return b.at.contains("lanes") && b.value_at("lanes") == 16;
  });
  for (Observation& b : o.points)
    if (b.what == "stack")
      b.samples = {b.value_at("lanes") == 8 && b.value_at("chains") >= 30 ? 32.0 : 8.0};
  const hwdesc::Profile p = inferred(o);
  EXPECT_EQ(p.execution.registers.width.value->v, 32);
  ASSERT_TRUE(p.execution.registers.count.known());
  EXPECT_EQ(p.execution.registers.count.value->v, 32);
}

// A datapath of half an instruction's width: whole registers are as fast as their halves.
Observations of_two_halves() {
  Observations o = synthetic_machine();
  for (Observation& b : o.points)
    if (b.what == "fma" && b.experiment == "fma" && b.value_at("lanes") == 16)
      b.samples =
          block("fma", "fma", {}, std::max(1.0, 4.0 / b.value_at("chains")) / kClock).samples;
    else if (b.experiment == "clock")
      b.samples = block("clock", "fma", {}, 1 / kClock).samples;
  return o;
}

TEST(Infer, WholeRegistersAreUsedThoughTheyAreNoFaster) {
  const hwdesc::Profile p = inferred(of_two_halves());
  const auto& modes = p.execution.lanes.modes;
  ASSERT_EQ(modes.size(), 3u);
  EXPECT_EQ(modes[2].width.value->v, 16);
  EXPECT_EQ(p.execution.registers.width.value->v, 64);
  const auto fma = std::find_if(modes[1].pipes.begin(), modes[1].pipes.end(),
                                [](const hwdesc::Pipe& x) { return x.name == "fma"; });
  ASSERT_NE(fma, modes[1].pipes.end());  // twice as many instructions of halves
  EXPECT_NEAR(fma->rate.value->v, 16, 0.5);
}

TEST(Infer, VectorsThatAreSplitOverflowTheRegisters) {
  Observations o = of_two_halves();
  for (Observation& b : o.points)
    if (b.what == "fma" && b.experiment == "fma" && b.value_at("lanes") == 16 &&
        b.value_at("chains") >= 16)
      for (double& s : b.samples) s *= 1.5;
  EXPECT_EQ(inferred(o).execution.lanes.modes.size(), 2u);
}

TEST(Infer, TheWidthOfTheFirstRoundsStays) {
  Observations o = of_two_halves();
  o.facts.emplace_back(kVectorLanes, "8");
  EXPECT_EQ(inferred(o).execution.lanes.modes.size(), 2u) << "though whole registers pay";
  o.facts.emplace_back(kVectorLanes, "16");
  for (Observation& b : o.points)
    if (b.what == "fma" && b.experiment == "fma" && b.value_at("lanes") == 16 &&
        b.value_at("chains") >= 16)
      for (double& s : b.samples) s *= 1.5;
  EXPECT_EQ(inferred(o).execution.lanes.modes.size(), 3u)
      << "though co-tenants disturbed them later";
}

TEST(Infer, VectorsWiderThanTheRegistersAreNotUsed) {
  Observations o = of_two_halves();
  o.facts.emplace_back("isa", "avx2");
  EXPECT_EQ(inferred(o).execution.lanes.modes.size(), 2u);
}

TEST(Infer, UpdatesInMemoryHaveALatency) {
  Observations o = synthetic_machine();
  const auto update = [&] {
    const hwdesc::Profile p = inferred(o);
    const auto c = std::find_if(p.compute.begin(), p.compute.end(),
                                [](const hwdesc::ComputeOp& x) { return x.op == "update"; });
    return c == p.compute.end() ? 0 : c->latency.value->v;
  };
  EXPECT_EQ(update(), 0);
  o.points.push_back(block("read_modify_write", "chain", {{"lanes", 16}}, 16 / 2.5e9));
  EXPECT_NEAR(update(), 16, 0.1);
}

TEST(Infer, TheChaseUsesTheClockOfMostBlocks) {
  Observations o = synthetic_machine();
  const size_t blocks = chase_blocks(o).size();
  for (Observation& b : o.points) b.clock_hz = kClock;
  EXPECT_EQ(chase_blocks(o).size(), blocks);
  size_t slow = 0;  // throttled after a third, by as much as a nearer level is faster
  for (Observation& b : o.points)
    if (b.what == "chase" && ++slow <= blocks / 3) {
      b.clock_hz = 0.6 * kClock;
      for (double& s : b.samples) s /= 0.6;
    }
  EXPECT_EQ(chase_blocks(o).size(), blocks - blocks / 3);
  for (const Observation& b : chase_blocks(o)) EXPECT_EQ(b.clock_hz, kClock);
}

TEST(Infer, GivesTheMachineBack) {
  const hwdesc::Profile p = inferred(synthetic_machine());
  EXPECT_EQ(p.name, "made-r-up");
  EXPECT_NEAR(p.clocks.at(0).max.value->v, kClock, 1e7);
  EXPECT_NEAR(p.clocks.at(0).sustained.at(0).second.value->v, 2.4e9, 1e7);
  EXPECT_EQ(p.topology.at(0).count.value->v, 4);
  ASSERT_EQ(p.execution.lanes.modes.size(), 3u);
  EXPECT_EQ(p.execution.registers.count.value->v, 32);
  EXPECT_NEAR(p.pipes.at(0).rate.value->v, 32, 0.2);  // by the clock under that load
  EXPECT_NEAR(p.pipes.at(1).rate.value->v, 32, 0.2);
  EXPECT_NEAR(p.compute.at(0).latency.value->v, 4, 0.02);
  EXPECT_NEAR(p.compute.at(1).latency.value->v, 17, 0.1);
  EXPECT_NEAR(p.compute.at(1).slots.value->v, 32, 0.5);
}

// Seconds per operation: two a cycle alone, `together` a cycle in pairs.
void add_pairs(Observations& o, double together) {
  const Conditions alone = {{"lanes", 16}, {"chains", kOpChains.back()}},
                   paired = {{"lanes", 16}, {"chains", kPairChains}};
  for (const char* op : {"add", "mul", "max"})
    o.points.push_back(block("operations", op, alone, 0.5 / 2.5e9));
  for (const std::string pair : {"fma+mul", "add+max"})
    o.points.push_back(block("operations", pair, paired, 0.5 / 2.5e9));
  for (const std::string pair : {"fma+add", "fma+max"})
    o.points.push_back(block("operations", pair, paired, 1 / together / 2.5e9));
}

// Cycles of an exponential, and of a step of it that alternates with divisions of 16 cycles.
void add_exponentials(Observations& o, double alone, double with_divisions) {
  o.points.push_back(
      block("operations", "exp", {{"lanes", 16}, {"chains", kOpChains.back()}}, alone / 2.5e9));
  o.points.push_back(block("operations", "exp+div", {{"lanes", 16}, {"chains", kPairChains}},
                           with_divisions / 2.5e9));
}

std::string pipe_of(const hwdesc::Profile& p, const std::string& op) {
  for (const hwdesc::ComputeOp& c : p.compute)
    if (c.op == op) return c.pipe;
  return "none";
}

TEST(Infer, OperationsThatOverlapHaveDifferentPipes) {
  Observations two_pipes = synthetic_machine(), shared = synthetic_machine();
  add_pairs(two_pipes, 3.5);
  add_pairs(shared, 2);
  const hwdesc::Profile two = inferred(two_pipes), one = inferred(shared);
  EXPECT_EQ(pipe_of(two, "add"), "add");
  EXPECT_EQ(pipe_of(two, "max"), "add") << "it waits for additions";
  EXPECT_EQ(pipe_of(two, "mul"), "fma");
  EXPECT_TRUE(hwdesc::check(two).empty());
  for (const char* op : {"add", "mul", "max"}) EXPECT_EQ(pipe_of(one, op), "fma");
  EXPECT_EQ(pipe_of(inferred(synthetic_machine()), "div"), "fma") << "nothing is known of pairs";
}

TEST(Infer, DivisionsThatOverlapWithExponentialsHaveAnotherPipe) {
  Observations two_pipes = synthetic_machine(), shared = synthetic_machine();
  add_exponentials(two_pipes, 14, 8.2);  // 16.4 cycles for both
  add_exponentials(shared, 14, 14.6);    // 29.2
  const hwdesc::Profile two = inferred(two_pipes), one = inferred(shared);
  EXPECT_EQ(pipe_of(two, "div"), "div");
  EXPECT_EQ(pipe_of(two, "exp"), "fma");
  EXPECT_TRUE(hwdesc::check(two).empty());
  EXPECT_EQ(pipe_of(one, "div"), "fma");
}

TEST(Infer, NarrowStoresAndGathersHaveTheirRates) {
  Observations o = synthetic_machine();
  const auto add = [&](const char* what, int lanes, double per_tick) {  // bytes
    o.points.push_back(block("access", what, {{"lanes", lanes}}, 1 / (per_tick * kClock)));
    o.points.back().clock_hz = kClock;
  };
  for (const int lanes : {4, 8, 16}) {
    add("write", lanes, lanes == 16 ? 64 : 2 * 4 * lanes);  // one whole vector, or two narrow ones
    const double stored = lanes == 4 ? 2 : 1;               // lanes a cycle
    add("gather", lanes, 2.0 * kBlockBytes / (kGathersPerBlock * lanes));
    add("scatter", lanes, stored * kBlockBytes / (kGathersPerBlock * lanes));
  }
  const hwdesc::Profile p = inferred(o);
  ASSERT_EQ(p.execution.lanes.modes.size(), 3u);
  ASSERT_EQ(p.execution.lanes.modes[0].pipes.size(), 1u)
      << "of 4 lanes: loads are as many as whole ones";
  EXPECT_EQ(p.execution.lanes.modes[0].pipes[0].name, "store");
  EXPECT_NEAR(p.execution.lanes.modes[0].pipes[0].rate.value->v, 8, 0.1);
  EXPECT_TRUE(p.execution.lanes.modes[2].pipes.empty());
  std::map<std::string, double> slots;
  for (const hwdesc::ComputeOp& c : p.compute)
    if (c.op == "gather" || c.op == "scatter") slots[c.op + " " + c.mode] = c.slots.value->v;
  ASSERT_EQ(slots.size(), 3u) << "a width as fast as the widest has no entry of its own";
  EXPECT_NEAR(slots.at("gather "), 16, 0.2);  // 32 lanes a cycle of whole vectors, 2 gathered
  EXPECT_NEAR(slots.at("scatter "), 16, 0.2);
  EXPECT_NEAR(slots.at("scatter v128"), 8, 0.1);
  EXPECT_TRUE(hwdesc::check(p).empty());
}

TEST(Infer, SplatsHaveARateOfTheirOwnWhereTheyAreFaster) {
  const auto splats_of = [](double per_tick, double of_four) {
    Observations o = synthetic_machine();
    for (const int lanes : {4, 8, 16}) {
      o.points.push_back(block("access", "splat", {{"lanes", lanes}},
                               static_cast<double>(kSplatsPerBlock) / kBlockBytes /
                                   ((lanes == 4 ? of_four : per_tick) * kClock)));
      o.points.back().clock_hz = kClock;
    }
    std::map<std::string, double> slots;
    for (const hwdesc::ComputeOp& c : inferred(o).compute)
      if (c.op == "splat") slots[c.mode] = c.slots.value->v;
    return slots;
  };
  EXPECT_TRUE(splats_of(2, 2).empty()) << "as many as vectors: a load like any other";
  const auto three = splats_of(3, 3);
  ASSERT_EQ(three.size(), 1u);
  EXPECT_NEAR(three.at(""), 2.0 / 3, 0.01);
  const auto four = splats_of(3, 4);
  ASSERT_EQ(four.size(), 2u);
  EXPECT_NEAR(four.at("v128"), 2.0, 0.02);  // 32 lanes a cycle of whole vectors, 4 times 4 in these
}

TEST(Infer, AScratchpadIsWhereTheDriverSays) {
  Observations o = synthetic_machine();
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
  EXPECT_EQ(inferred(synthetic_machine()).memory.at(0).name, "l1")
      << "none without a driver's word";
}

TEST(Infer, AStepInOneKernelIsABarrierAndALaunchAStep) {
  Observations o = synthetic_machine();
  o.points.push_back(block("launch", "step", {{"units", 4}}, 3e-6));
  EXPECT_FALSE(inferred(o).apis.at(0).device_barrier.known())
      << "of a driver every step is a launch";
  o.points.push_back(block("launch", "barrier", {{"units", 4}}, 2e-7));
  const hwdesc::Api api = inferred(o).apis.at(0);
  EXPECT_NEAR(api.launch.stream.value->v, 3e-6, 1e-8);
  EXPECT_NEAR(api.device_barrier.value->v, 2e-7, 1e-9);
}

TEST(Infer, OneMoreLaunchWithoutABarrier) {
  Observations o = synthetic_machine();
  EXPECT_FALSE(inferred(o).apis.at(0).launch.beside.known());
  o.points.push_back(block("launch", "beside", {{"units", 4}}, 7e-7));
  EXPECT_NEAR(inferred(o).apis.at(0).launch.beside.value->v, 7e-7, 1e-9);
}

// A host had the units on one die for so many blocks, and on two for ten.
TEST(Infer, StepsAreOfOneDieWhereEnoughBlocksShowIt) {
  const auto step = [](int near) {
    Observations o = synthetic_machine();
    for (int i = 0; i < near + 10; ++i)
      o.points.push_back(block("launch", "step", {{"units", 4}}, i < near ? 80e-9 : 400e-9));
    return inferred(o).apis.at(0).launch.stream.value->v;
  };
  EXPECT_NEAR(step(0), 400e-9, 1e-9);
  EXPECT_NEAR(step(1), 400e-9, 40e-9) << "by chance";
  EXPECT_NEAR(step(3), 80e-9, 1e-9);
  EXPECT_NEAR(step(10), 80e-9, 1e-9);
}

TEST(Infer, ColdCodeCostsItsExtraTimeAndNothingWithinNoise) {
  Observations o = synthetic_machine();
  const auto cold = [&] { return inferred(o).apis.at(0).launch.cold; };
  EXPECT_EQ(cold().note, "code that other memory has driven out did not run");
  for (const double steps : {256.0, 512.0, 1024.0}) {
    o.points.push_back(block("cold", "warm", {{"steps", steps}}, 1e-10 * steps));
    o.points.push_back(block("cold", "cold", {{"steps", steps}}, 1e-10 * steps + 3e-7));
  }
  ASSERT_TRUE(cold().known()) << cold().note;
  EXPECT_NEAR(cold().value->v, 3e-7, 5e-9);
  ASSERT_TRUE(cold().low && cold().high);
  EXPECT_LT(cold().low->v, 3e-7);
  EXPECT_GT(cold().high->v, 3e-7);
  EXPECT_EQ(inferred(o).apis.at(0).launch.uncached.note,
            "code that other memory has driven out did not run");
  o.points.push_back(block("cold", "uncached", {{"steps", 512}}, 1e-10 * 512 + 3e-6));
  EXPECT_NEAR(inferred(o).apis.at(0).launch.uncached.value->v, 3e-6, 5e-8);
  EXPECT_NEAR(cold().value->v, 3e-7, 5e-9) << "the other is not meant";
  o.points.push_back(block("cold", "cold", {{"steps", 512}}, 1e-10 * 512 + 9e-7));
  EXPECT_NEAR(cold().value->v, 3e-7, 1e-8) << "how far it differs is not what it costs";
  EXPECT_NEAR(cold().high->v, 9e-7, 1e-8) << "but it is what a step may take";
  o.points.pop_back();
  o.points.push_back(block("cold", "warm", {{"steps", 2048}}, 5e-7));
  o.points.push_back(block("cold", "cold", {{"steps", 2048}}, 5e-7));
  EXPECT_FALSE(cold().known());
  EXPECT_NE(cold().note.find("takes no longer"), std::string::npos);
}

TEST(Infer, ColdCodeIsComparedWithWarmCodeOfTheSameVisit) {
  Observations o = synthetic_machine();
  for (const double slower : {1.0, 3.0})
    for (const char* what : {"warm", "cold", "between"})
      for (const double steps : {256.0, 512.0, 1024.0}) {
        if (what == std::string("between"))
          o.points.push_back(block("far", "other", {}, 1e-9));
        else
          o.points.push_back(
              block("cold", what, {{"steps", steps}},
                    slower * 1e-9 * steps + (what == std::string("cold") ? 1e-7 : 0)));
      }
  const auto cold = inferred(o).apis.at(0).launch.cold;
  ASSERT_TRUE(cold.known()) << cold.note;
  EXPECT_NEAR(cold.value->v, 1e-7, 5e-9);
}

// What has just run is cached, whatever was read before.
TEST(ColdCode, TheCodeInBetweenIsNotTheTimedCode) {
  for (const int steps : cold_code_steps()) EXPECT_NE(steps, kOtherCodeSteps);
}

// Of the groups that all arrived; else the reason is given and no plan uses it.
TEST(Infer, ABarrierInsideAKernelCountsTheGroupsThatArrive) {
  Observations o = synthetic_machine();
  o.facts.insert(o.facts.end(), {{"lanes", "threads"}, {"widths", "8"}, {"class", "gpu"}});
  EXPECT_NE(inferred(o).apis.at(0).device_barrier.note.find("did not run"), std::string::npos);
  o.points.push_back(block("barrier", "device", {{"groups", 8}}, 3e-6));
  o.points.push_back(block("barrier", "device", {{"groups", 4}}, 2e-6));
  o.points.push_back(block("barrier", "gave_up", {{"groups", 64}}, 4096));
  const hwdesc::Api api = inferred(o).apis.at(0);
  ASSERT_EQ(api.coresident_barrier.size(), 3u);
  EXPECT_EQ(api.coresident_barrier[0].groups.value->v, 4);
  EXPECT_NEAR(api.coresident_barrier[0].time.value->v, 2e-6, 1e-8);
  EXPECT_TRUE(api.coresident_barrier[0].time.low && api.coresident_barrier[0].time.high);
  EXPECT_NEAR(api.coresident_barrier[1].time.value->v, 3e-6, 1e-8);
  EXPECT_FALSE(api.coresident_barrier[2].time.known());
  EXPECT_EQ(api.coresident_barrier[2].time.note,
            "not all groups had come when one had looked 4096 times");
  EXPECT_FALSE(api.device_barrier.known()) << "every step of a plan is a launch";
  o.points.back() = block("barrier", "device", {{"groups", 64}}, -1e-6);
  EXPECT_FALSE(inferred(o).apis.at(0).coresident_barrier[2].time.known())
      << "launches that differ by more than barriers take";
}

TEST(Infer, PassesTheCheckAndIsTheSameEveryTime) {
  const hwdesc::Profile p = inferred(synthetic_machine());
  EXPECT_FALSE(has_error(hwdesc::check(p))) << render(hwdesc::check(p));
  EXPECT_EQ(hwdesc::print_profile(p), hwdesc::print_profile(inferred(synthetic_machine())));
}

// Where threads run on a processor, co-tenants use its units: the wake-up of the last group is
// unknown.
TEST(Infer, UnitsHeldByCoTenantsAreNotCounted) {
  Observations o = synthetic_machine();
  o.facts.insert(o.facts.end(), {{"lanes", "threads"}, {"widths", "8"}, {"class", "cpu"}});
  for (const double groups : {1, 2, 3, 4})
    o.points.push_back(block("units", "alone", {{"groups", groups}}, groups > 2 ? 2e-3 : 1e-3));
  EXPECT_EQ(inferred(o).topology.at(0).count.value->v, 2);
  o.points.back().foreign = 0.5;
  EXPECT_FALSE(inferred(o).topology.at(0).count.known());
  EXPECT_EQ(inferred(o).topology.at(0).count.note.find("others used the machine"), 0u);
}

TEST(Infer, ResidentGroupsAreAMultipleOfTheUnits) {
  Observations o = synthetic_machine();
  o.facts.insert(o.facts.end(),
                 {{"lanes", "threads"}, {"widths", "8"}, {"class", "gpu"}, {"compute_units", "3"}});
  for (const double groups : {1, 3, 5, 6, 7})
    o.points.push_back(block("units", "alone", {{"groups", groups}}, groups > 6 ? 2e-3 : 1e-3));
  EXPECT_EQ(inferred(o).topology.at(0).count.value->v, 3);
  o.facts.back().second = "4";
  EXPECT_EQ(inferred(o).topology.at(0).count.value->v, 6) << "no multiple: what was measured";
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

TEST(Kernels, AllAreWellFormedAndDistinct) {
  std::set<std::string> names;
  for (const ir::Kernel& k : all_kernels({false, {4, 8, 16}, 16 << 10})) {
    EXPECT_TRUE(ir::verify(k).empty()) << render(ir::verify(k));
    EXPECT_TRUE(names.insert(k.name).second) << k.name;
  }
}

}  // namespace
}  // namespace assay::probe
