// Capacities from the best of many looks, and what the system declares of them.
#include "probe/inference/capacity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "probe/inference/known.h"
#include "tests/probe/synthetic_machine.h"

namespace assay::probe {
namespace {

using test::block;
using test::inferred;
using test::kClock;
using test::kKiB;
using test::kMiB;
using test::synthetic_machine;

constexpr Plateau kNear{4 * kKiB, 32 * kKiB, 0}, kFar{80 * kKiB, 512 * kKiB, 0};

// A cache of 48 KiB of 12 ways with LRU: a scan of one way more misses all. 5 and 16 ticks.
double ticks_of(double bytes, double capacity) {
  const double over = std::clamp((bytes / capacity - 1) * 12, 0.0, 1.0);
  return 5 + 11 * over;
}

std::vector<Look> looks(const std::vector<double>& capacities) {
  std::vector<Look> out;
  for (size_t visit = 0; visit < capacities.size(); ++visit)
    for (double b = 8 * kKiB; b < 256 * kKiB; b *= 1.05)
      out.push_back({b, ticks_of(b, capacities[visit]), visit});
  return out;
}

TEST(Capacity, IsHeldByTheIntervalOfQuietLooks) {
  const auto held = held_by(looks({48 * kKiB, 48 * kKiB, 48 * kKiB}), kNear, kFar);
  ASSERT_TRUE(held.has_value());
  EXPECT_LE(held->least, 48 * kKiB);
  EXPECT_GE(held->most, 48 * kKiB);
  EXPECT_LT(held->most / held->least, 1.25);
  EXPECT_TRUE(held->alike);
}

// A neighbour takes half of it in four visits of five.
TEST(Capacity, TheBestLookCounts) {
  const double half = 24 * kKiB;
  const auto held = held_by(looks({half, half, 48 * kKiB, half, half}), kNear, kFar);
  ASSERT_TRUE(held.has_value());
  EXPECT_LE(held->least, 48 * kKiB);
  EXPECT_GT(held->least, 40 * kKiB);
  EXPECT_GE(held->most, 48 * kKiB);
  EXPECT_FALSE(held->alike) << "some looks saw less";
}

TEST(Capacity, FewVisitsAreNotAlike) {
  EXPECT_FALSE(held_by(looks({48 * kKiB, 48 * kKiB}), kNear, kFar)->alike);
}

// Pages at random: of 2 MiB in 16 ways the sets of 32 page colours hold more or fewer pages than
// ways. P(Poisson(16 W / 2 MiB) < 16) of a footprint of W hits: 0.94 at 1.25 MiB, 0.81 at 1.5, 0.47
// at 2, 0.16 at 2.5, 0.04 at 3.
TEST(Capacity, OfPagesAtRandomIsHeldAsWell) {
  const std::pair<double, double> hits[] = {{0.25, 1},    {0.5, 1},    {0.75, 1}, {1, 0.99},
                                            {1.25, 0.94}, {1.5, 0.81}, {2, 0.47}, {2.5, 0.16},
                                            {3, 0.04},    {4, 0},      {8, 0}};
  std::vector<Look> all;
  for (size_t visit = 0; visit < 3; ++visit)
    for (const auto& [size, h] : hits) all.push_back({size * kMiB, 100 - 84 * h, visit});
  const auto held = held_by(all, {0.25 * kMiB, 1 * kMiB, 0}, {3 * kMiB, 8 * kMiB, 0});
  ASSERT_TRUE(held.has_value());
  EXPECT_LE(held->least, 2 * kMiB);
  EXPECT_GE(held->most, 2 * kMiB);
  EXPECT_LE(held->half, 2 * kMiB);
  EXPECT_LT(held->most / held->least, 2) << "1.5 MiB times 0.81, and 2.1 MiB";
}

// A clock that was disturbed in one block would show latencies of fewer ticks.
TEST(Capacity, ADisturbedClockMakesNoLookBetter) {
  Observations o;
  for (const double hz : {kClock, 0.4 * kClock, kClock}) {
    o.points.push_back(block("chase", "chase", {{"bytes", 64 * kKiB}}, 16 / kClock));
    o.points.back().clock_hz = hz;
  }
  for (const Look& l : looks_of(o)) EXPECT_NEAR(l.ticks, 16, 0.1);
}

// Pairs of touches; a neighbour evicts what the second one would hit, at some time or throughout.
TEST(Line, TheBestLookAtEachDistanceCounts) {
  Observations o;
  o.facts = {{"class", "cpu"}, {"declared.l1", "32K, shared by CPUs 0, line 128 B"}};
  for (const char* experiment : {"line", "looks"})
    for (const double d : {16, 32, 64, 128}) {
      const bool evicted = (experiment[1] == 'i') == (d == 32);
      o.points.push_back(block(experiment, "pair", {{"distance", d}},
                               d >= 64   ? 5e-9
                               : evicted ? 5e-9
                                         : 3e-9));
    }
  const LineSize found = line_by_pairs(o);
  EXPECT_EQ(found.bytes, 64);
  EXPECT_FALSE(found.declared);
}

TEST(Line, WhatNothingConfirmsHasAnInterval) {
  Observations o = synthetic_machine();
  o.facts.emplace_back("class", "cpu");
  o.facts.emplace_back("declared.l1", "48K, shared by CPUs 0, line 128 B");
  for (Observation& p : o.points)
    if (p.experiment == "line") p.samples.assign(5, 10e-9);
  const auto line = inferred(o).memory.at(0).line;
  EXPECT_EQ(line.value->v, 128);
  EXPECT_EQ(line.low->v, 64);
  EXPECT_EQ(line.high->v, 256);
}

// A core whose neighbour took issue slots whenever it was looked at: 1.66 vectors a tick. Pipes
// start whole ones, so it may do two.
TEST(Rate, TheIntervalReachesTheNextWholeVector) {
  Observations o = synthetic_machine();
  for (Observation& p : o.points)
    if (p.experiment == "fma" && p.unit == "s")
      for (double& s : p.samples) s = std::max(s, 1 / (1.66 * 2.5e9));
  const auto rate = inferred(o).pipes.at(0).rate;
  EXPECT_NEAR(rate.value->v, 26.5, 0.5);
  EXPECT_GE(rate.high->v, 32);
  EXPECT_LE(rate.low->v, 26.5);
  EXPECT_NE(rate.note.find("whole vectors"), std::string::npos);
}

// Others take a part of a cache: never, at one of two times, or of more sets the longer they run.
enum class Taken { nothing, once, smeared };

// The synthetic machine's second cache has 1 MiB; what is said of it differs.
hwdesc::Value<hwdesc::Bytes> second(const char* declared, Taken taken) {
  Observations o = synthetic_machine();
  o.facts.emplace_back("class", "cpu");
  o.facts.emplace_back("declared.l1", "48K, shared by CPUs 0, line 64 B");
  o.facts.emplace_back("declared.l2", std::string(declared) + ", shared by CPUs 0, line 64 B");
  o.facts.emplace_back("declared.l3", "16384K, shared by CPUs 0-3, line 64 B");
  std::vector<Observation> more;
  for (const Observation& p : o.points)
    if (p.experiment == "chase") more.push_back(p);
  for (int visit = 0; visit < 2; ++visit)
    for (Observation p : more) {
      p.experiment = visit == 0 ? "knees" : "looks";
      const double bytes = p.at.at("bytes");
      if (taken == Taken::once && bytes > 500 * kKiB && bytes < 1.1 * kMiB)
        p.samples.assign(5, 2e-8);
      if (taken == Taken::smeared && bytes > 500 * kKiB && bytes < 3 * kMiB)
        p.samples.assign(5, 6.4e-9 + 1.36e-8 * std::min(1.0, (bytes / kMiB - 0.5) / 1.5));
      o.points.push_back(p);
    }
  return inferred(o).memory.at(1).capacity;
}

TEST(Capacity, WhatIsDeclaredStandsWhereNoLookContradicts) {
  const auto v = second("1024K", Taken::nothing);
  EXPECT_EQ(v.value->v, 1 * kMiB);
  EXPECT_EQ(v.source, hwdesc::Origin::driver);
}

TEST(Capacity, AMeasurementReplacesWhatIsDeclared) {
  const auto half = second("512K", Taken::nothing), twice = second("2048K", Taken::nothing);
  EXPECT_GT(half.low->v, 512 * kKiB) << "more was held";
  EXPECT_GE(half.high->v, 1 * kMiB);
  EXPECT_EQ(half.source, hwdesc::Origin::measured);
  EXPECT_LT(twice.high->v, 2 * kMiB) << "all looks were alike";
  EXPECT_NE(twice.note.find("the measurement replaces it"), std::string::npos) << twice.note;
}

TEST(Capacity, TheIntervalHoldsBothWhereLooksDiffer) {
  const auto v = second("2048K", Taken::once);
  EXPECT_LE(v.low->v, 1 * kMiB);
  EXPECT_GE(v.high->v, 2 * kMiB);
  EXPECT_EQ(v.source, hwdesc::Origin::measured);
  EXPECT_NE(v.note.find("the interval holds both"), std::string::npos) << v.note;
}

// Alike looks prove nothing where misses set in gradually: a cache alone has a sharp knee.
TEST(Capacity, TheIntervalHoldsBothWhereTheKneeIsSmeared) {
  const auto v = second("2048K", Taken::smeared);
  EXPECT_LE(v.low->v, 1 * kMiB);
  EXPECT_GE(v.high->v, 2 * kMiB);
}

}  // namespace
}  // namespace assay::probe
