// The clock where additions, multiply-adds and the driver disagree.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "probe/inference/known.h"
#include "probe/inference/ticks.h"
#include "tests/probe/synthetic_machine.h"

namespace assay::probe {
namespace {

using test::block;
using test::inferred;
using test::kClock;
using test::synthetic_machine;

// Cycles are counted by the additions beside each block, so they do not need the clock experiment.
TEST(Clock, RatesAreInCyclesAlsoWithoutTheClockExperiment) {
  Observations o = synthetic_machine();
  std::erase_if(o.points, [](const Observation& p) { return p.experiment == "clock"; });
  for (Observation& p : o.points) p.clock_hz = kClock;
  const hwdesc::Profile p = inferred(o);
  EXPECT_NEAR(p.clocks.at(0).max.value->v, kClock, 1e7);
  EXPECT_EQ(p.pipes.at(0).rate.value->clock, "core");
  EXPECT_NEAR(p.pipes.at(0).rate.value->v, 16 / 0.5 * 2.5 / 3, 0.5);
}

// Of threads the driver names the highest clock: the chip may run below it, not above.
TEST(Clock, AdditionsTakeWholeCyclesOfAClockNoHigherThanTheDrivers) {
  const auto clock = [](double additions) {
    Observations o;
    o.facts = {{"lanes", "threads"}, {"clock_hz", "1200000000"}};
    o.points.push_back(block("clock", "sentinel", {}, 1 / additions));
    o.points.back().clock_hz = additions;
    return *with_ticks(o).points.at(0).clock_hz;
  };
  EXPECT_DOUBLE_EQ(clock(291e6), 4 * 291e6);
  EXPECT_DOUBLE_EQ(clock(302e6), 4 * 302e6) << "measured not quite right";
  EXPECT_DOUBLE_EQ(clock(1200e6 / 3.9), 1200e6) << "of operands that come sooner now and then";
}

// A neighbour holds the clock down while the clock experiment runs, and not beside most others.
TEST(Clock, AdditionsTakeAsManyCyclesAsAtTheHighestClock) {
  Observations o;
  o.facts = {{"lanes", "threads"}, {"clock_hz", "1200000000"}};
  o.points = {block("clock", "sentinel", {}, 1 / 180e6)};
  o.points[0].clock_hz = 180e6;
  for (int i = 0; i < 3; ++i) {
    o.points.push_back(block("chase", "chase", {{"bytes", 16384}}, 1e-7));
    o.points.back().clock_hz = 300e6;
  }
  EXPECT_DOUBLE_EQ(*with_ticks(o).points.at(0).clock_hz, 4 * 180e6);
  EXPECT_DOUBLE_EQ(*with_ticks(o).points.at(1).clock_hz, 1200e6);
}

// Groups that fill a unit, of which five ran at once: one group and six at six tenths of the clock.
TEST(Clock, UnitsAreCountedInTicks) {
  const auto ran = [](const std::string& what) {
    Observations o;
    o.facts = {{"lanes", "threads"}, {"class", what}};
    for (const auto& [groups, rounds, part] : {std::tuple{1, 1, 0.6},
                                               {2, 1, 1.0},
                                               {4, 1, 1.0},
                                               {5, 1, 1.0},
                                               {6, 2, 1.0},
                                               {6, 2, 0.6},
                                               {8, 2, 1.0}}) {
      o.points.push_back(block("units", "alone", {{"groups", groups}}, rounds * 4e-9 / part));
      o.points.back().clock_hz = part * 1e9;
    }
    return units_that_ran(o);
  };
  EXPECT_EQ(ran("gpu"), 5);
  EXPECT_EQ(ran("cpu"), 0) << "sentinels of a processor's threads tell no clock: no step is clear";
}

// A slower core, and one whose co-tenant takes issue slots: additions beside multiply-adds take as
// long in both. Two vectors of multiply-adds a cycle tell them from each other.
TEST(Clock, MultiplyAddsDistinguishASlowerClockFromACoTenant) {
  const auto rate = [](double hz) {
    Observations o;
    o.points = {block("clock", "sentinel", {}, 1 / kClock),
                block("clock", "fma", {{"lanes", 8}}, 1.15 / kClock),
                block("fma", "fma", {{"lanes", 8}, {"chains", 1}}, 4 / hz),
                block("fma", "fma", {{"lanes", 8}, {"chains", 12}}, 0.5 / hz)};
    for (Observation& b : o.points) b.clock_hz = kClock;
    const hwdesc::Profile p = inferred(o);
    return std::pair(p.pipes.at(0).rate.value->v, p.compute.at(0).latency.value->v);
  };
  for (const double hz : {kClock, kClock / 1.15}) {
    EXPECT_NEAR(rate(hz).first, 16, 0.2);
    EXPECT_NEAR(rate(hz).second, 4, 0.05);
  }
}

// A co-tenant that takes half of both leaves two vectors a cycle at either clock. No vector has a
// latency of half a cycle.
TEST(Clock, ALatencyOfACycleDistinguishesASlowerClockFromACoTenant) {
  const auto latency = [](double hz) {
    Observations o;
    o.points = {block("clock", "sentinel", {}, 1 / kClock),
                block("clock", "fma", {{"lanes", 8}}, 2 / kClock),
                block("fma", "fma", {{"lanes", 8}, {"chains", 1}}, 4 / hz),
                block("fma", "fma", {{"lanes", 8}, {"chains", 12}}, 1 / kClock),
                block("operations", "max", {{"lanes", 8}, {"chains", 1}}, 1 / hz)};
    for (Observation& b : o.points) b.clock_hz = kClock;
    return inferred(o).compute.at(0).latency.value->v;
  };
  EXPECT_NEAR(latency(kClock), 4, 0.05);
  EXPECT_NEAR(latency(kClock / 2), 4, 0.05);
}

// Disturbed additions alone are no lower clock if those beside multiply-adds ran undisturbed.
TEST(Clock, DisturbedAdditionsAloneAreNoSlowerClock) {
  Observations o;
  o.points = {block("clock", "fma", {{"lanes", 8}}, 1 / kClock),
              block("fma", "fma", {{"lanes", 8}, {"chains", 12}}, 0.5 / kClock)};
  o.points[0].clock_hz = 0.4 * kClock;
  o.points[1].clock_hz = kClock;
  EXPECT_NEAR(clock_under(o, "fma", 8, kClock), kClock, 0.01 * kClock);
}

// A host that changes the clock from block to block: each block's additions count by the sentinel
// beside them.
TEST(Clock, BlocksAtAHigherClockDoNotRaiseThatOfOthers) {
  for (const double ticks : {1.0, 1.15}) {
    Observations o;
    for (const double hz : {kClock, 1.09 * kClock, kClock}) {
      o.points.push_back(block("clock", "fma", {{"lanes", 8}}, ticks / hz));
      o.points.back().clock_hz = hz;
    }
    EXPECT_NEAR(clock_under(o, "fma", 8, kClock), kClock / ticks, 0.02 * kClock);
    EXPECT_NEAR(clock_under(o, "fma", 8, 1.09 * kClock), 1.09 * kClock / ticks, 0.02 * kClock);
  }
}

// A clock experiment that was disturbed throughout does not give the clock: later blocks ran
// faster.
TEST(Clock, AClockBelowThatOfLaterExperimentsDoesNotCount) {
  const auto clock = [](double seen) {
    Observations o;
    o.points = {block("clock", "sentinel", {}, 1 / (seen * kClock)),
                block("chase", "chase", {{"bytes", 16384}}, 4 / kClock),
                block("sustained", "fma", {{"lanes", 8}}, 1 / kClock)};
    for (Observation& b : o.points) b.clock_hz = kClock;
    o.points[0].clock_hz = seen * kClock;
    EXPECT_NEAR(known_from(o).clock_hz, std::max(seen, 1.0) * kClock, 0.05 * kClock);
    return inferred(o).clocks.at(0).max;
  };
  EXPECT_NEAR(clock(0.7).value->v, kClock, 0.01 * kClock);
  EXPECT_NE(clock(0.7).note.find("the clock experiment saw"), std::string::npos);
  EXPECT_NEAR(clock(0.96).value->v, kClock, 0.005 * kClock)
      << "the same clock, a little higher in most of the run";
  EXPECT_LE(clock(0.96).low->v, 0.97 * kClock);
  EXPECT_NE(clock(0.96).note.find(
                "of additions beside other experiments: the clock experiment saw 2.88 GHz"),
            std::string::npos)
      << clock(0.96).note;
  EXPECT_NEAR(clock(1.04).value->v, 1.04 * kClock, 0.01 * kClock)
      << "the free clock is the highest";
  EXPECT_TRUE(clock(1.04).note.empty());
}

TEST(Clock, ADisturbedLoadedClockIsNotReported) {
  Observations o;
  o.points.push_back(block("clock", "sentinel", {}, 1 / kClock));
  o.points.push_back(block("sustained", "fma", {{"lanes", 16}}, 10 / kClock));
  EXPECT_FALSE(inferred(o).clocks.at(0).sustained.at(0).second.known());
}

}  // namespace
}  // namespace assay::probe
