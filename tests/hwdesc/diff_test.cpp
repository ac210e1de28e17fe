#include "hwdesc/diff.h"

#include <gtest/gtest.h>

#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

Profile profile_of(const std::string& text) {
  const auto p = parse_profile(text, "p.yaml", no_library);
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return *p;
}

// The differences from the small profile with `from` replaced by `to`.
std::string differences(const std::string& from, const std::string& to) {
  return print_diff(diff(profile_of(small_profile()), profile_of(varied(from, to))));
}

std::vector<Difference> with_latencies(const std::string& left, const std::string& right) {
  return diff(profile_of(varied("latency: 5 cycles@core", left)),
              profile_of(varied("latency: 5 cycles@core", right)));
}

Verdict only(const std::vector<Difference>& list) {
  EXPECT_EQ(list.size(), 1U);
  return list.at(0).verdict;
}

TEST(Diff, IntervalsThatMeetExplainADifference) {
  const std::string a = "latency: {value: 5 cycles@core, low: 4 cycles@core, high: 6 cycles@core}";
  const std::string near =
      "latency: {value: 7 cycles@core, low: 6 cycles@core, high: 8 cycles@core}";
  const std::string away =
      "latency: {value: 7 cycles@core, low: 6.5 cycles@core, high: 8 cycles@core}";
  EXPECT_EQ(only(with_latencies(a, near)), Verdict::within);
  EXPECT_FALSE(differs(with_latencies(a, near)));
  EXPECT_EQ(only(with_latencies(a, away)), Verdict::beyond);
  EXPECT_TRUE(differs(with_latencies(a, away)));
  EXPECT_TRUE(differs(with_latencies(away, a)));
}

TEST(Diff, WhatHasNoIntervalIsExact) {
  const std::string a = "latency: {value: 5 cycles@core, low: 4 cycles@core, high: 6 cycles@core}";
  EXPECT_EQ(only(with_latencies(a, "latency: 6 cycles@core")), Verdict::within);
  EXPECT_EQ(only(with_latencies(a, "latency: 6.1 cycles@core")), Verdict::beyond);
  EXPECT_EQ(only(with_latencies("latency: 5 cycles@core", "latency: 6 cycles@core")),
            Verdict::beyond);
}

TEST(Diff, CyclesAreTimesWhereTheClockIsKnown) {
  EXPECT_EQ(only(with_latencies("latency: 5 cycles@core", "latency: 5 ns")), Verdict::beyond);
  EXPECT_EQ(only(with_latencies("latency: 5 cycles@core",
                                "latency: {value: 3 ns, low: 2 ns, high: 4 ns}")),
            Verdict::within)
      << "2 GHz";
}

// Times are compared with ticks of a known clock: a driver may not report its clock.
TEST(Diff, TicksOfAnUnknownClockAreNotTold) {
  Profile ticks = profile_of(varied("latency: 5 cycles@core", "latency: 5 cycles@core"));
  const Profile times = profile_of(varied("latency: 5 cycles@core", "latency: 5 ns"));
  ticks.clocks.at(0).max = {};
  for (const Difference& d : diff(ticks, times))
    if (d.path.ends_with(".latency")) {
      EXPECT_EQ(d.verdict, Verdict::untold);
    }
}

TEST(Diff, AKneeIsAnInterval) {
  const auto knee = [](const std::string& from, const std::string& to) {
    return profile_of(
        varied("latency: 5 cycles@core", "knee: {from: " + from + ", to: " + to + "}"));
  };
  EXPECT_FALSE(differs(diff(knee("28 KiB", "33 KiB"), knee("31 KiB", "40 KiB"))));
  EXPECT_TRUE(differs(diff(knee("28 KiB", "30 KiB"), knee("31 KiB", "40 KiB"))));
}

TEST(Diff, NotToKnowIsNoContradiction) {
  EXPECT_EQ(differences("latency: 5 cycles@core", "latency: {value: unknown, note: busy}"),
            "memory.l1.latency: 5 cycles@core -> unknown  (untold)\n");
  EXPECT_EQ(differences(", latency: 5 cycles@core", ""),
            "memory.l1.latency: 5 cycles@core -> -  (untold)\n");
}

TEST(Diff, NameAndDateAreCircumstances) {
  EXPECT_EQ(differences("name: small", "name: other"), "name: small -> other  (circumstance)\n");
  EXPECT_FALSE(
      differs(diff(profile_of(small_profile()), profile_of(varied("name: small", "name: other")))));
}

TEST(Diff, HowABorderWasFoundIsACircumstance) {
  const auto read_by = [](const std::string& method) {
    return profile_of(small_profile() +
                      "paths: [{name: texture, border: {gives: zero, method: " + method + "}}]\n");
  };
  const auto found = diff(read_by("a sampler"), read_by("none"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].verdict, Verdict::circumstance);
}

TEST(Diff, AnEntryThatOnlyOneHasIsADifference) {
  Profile fewer = profile_of(small_profile());
  fewer.compute.clear();
  EXPECT_TRUE(differs(diff(profile_of(small_profile()), fewer)));
  EXPECT_TRUE(differs(diff(fewer, profile_of(small_profile()))));
}

TEST(Diff, IsTheSameFromBothSides) {
  const Profile a = profile_of(small_profile());
  const Profile b = profile_of(
      varied("value: 90 ns, low: 80 ns, high: 110 ns", "value: 115 ns, low: 109 ns, high: 120 ns"));
  const auto there = diff(a, b), back = diff(b, a);
  ASSERT_EQ(there.size(), back.size());
  for (size_t i = 0; i < there.size(); ++i) {
    EXPECT_EQ(there[i].left, back[i].right);
    EXPECT_EQ(there[i].right_interval, back[i].left_interval);
    EXPECT_EQ(there[i].verdict, back[i].verdict);
  }
}

}  // namespace
}  // namespace assay::hwdesc
