// One shared cache or private caches, where the knee is sharp and where it is wide.
#include "probe/inference/sharing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "probe/inference/known.h"
#include "probe/inference/sharing_contrast.h"
#include "tests/probe/synthetic.h"

namespace assay::probe {
namespace {

using test::SyntheticLevel;
constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int kUnits = 2;

std::vector<SyntheticLevel> made(double smear) {
  return {{32 * kKiB, 2e-9, 0}, {1 * kMiB, 10e-9, smear}, {0, 90e-9, 0}};
}

// The chase of one unit, and of two with the footprint of `sharing_footprint`; `shared`: they are
// as slow as one with twice as much.
Observations observed(double smear, bool shared, bool little = false) {
  Observations all;
  all.points = test::chase_observations(made(smear), 0.02, 1);
  const std::vector<CurvePoint> curve = curve_of(all.points, Estimator::latency);
  const KneePoint knee = find_levels(curve).knees.at(1);
  const double bytes = little ? 0.4 * knee.from : sharing_footprint(knee, curve, kUnits);
  for (const int units : {1, kUnits})
    for (int block = 0; block < 4; ++block) {
      Observation o{
          "sharing", "chase", {{"level", 1}, {"units", units}, {"first", 0}, {"bytes", bytes}},
          "s",       {},      {0, 0, 0},
          0,         3e9};
      for (int i = 0; i < 3; ++i)
        o.samples.push_back(test::latency_at(made(smear), shared ? bytes * units : bytes));
      all.points.push_back(std::move(o));
    }
  return all;
}

Sharing measured(const Observations& all) { return known_from(all).sharing.at(1); }

TEST(Sharing, sharp_and_wide_knees_distinguish_one_cache_from_two) {
  for (const double smear : {0.0, 0.5, 1.2, 1.8})
    for (const bool shared : {false, true}) {
      const Sharing s = measured(observed(smear, shared));
      EXPECT_EQ(s.shared, shared) << smear << ": " << s.why;
      EXPECT_TRUE(s.certain) << smear << ": " << s.why;
    }
}

// Both would be as fast in so small a footprint: nothing is decided.
TEST(Sharing, footprints_that_may_fit_in_one_cache_decide_nothing) {
  const Sharing s = measured(observed(1.8, true, true));
  EXPECT_FALSE(s.certain) << s.why;
  EXPECT_NE(s.why.find("may fit together"), std::string::npos) << s.why;
}

// A neighbour has half of the cache while units are looked at: one alone misses like all of them.
// That tells nothing. Undisturbed looks beside it do.
TEST(Sharing, looks_that_a_neighbour_disturbed_tell_nothing) {
  Observations all = observed(0, true);
  const double missed = made(0).back().seconds;
  for (Observation& o : all.points)
    if (o.experiment == "sharing") std::fill(o.samples.begin(), o.samples.end(), missed);
  EXPECT_FALSE(measured(all).certain) << measured(all).why;
  for (const bool shared : {false, true}) {
    Observations more = all;
    for (const Observation& o : observed(0, shared).points)
      if (o.experiment == "sharing") more.points.push_back(o);
    EXPECT_EQ(measured(more).shared, shared) << measured(more).why;
    EXPECT_TRUE(measured(more).certain) << measured(more).why;
  }
}

// Farther memory is as fast at any clock. Looks of all units under a lower clock show a shared
// cache no less than others.
TEST(Sharing, a_lower_clock_for_a_while_does_not_make_a_cache_private) {
  Observations all = observed(1.8, true);
  std::vector<Observation> slower;
  for (const Observation& o : all.points)
    for (int n = 0; o.experiment == "sharing" && o.value_at("units") > 1 && n < 2; ++n) {
      slower.push_back(o);
      slower.back().clock_hz = 1.5e9;
    }
  all.points.insert(all.points.end(), slower.begin(), slower.end());
  EXPECT_TRUE(measured(all).shared) << measured(all).why;
  EXPECT_TRUE(measured(all).certain) << measured(all).why;
}

TEST(Sharing, a_sharp_knee_needs_a_footprint_beyond_one_cache) {
  const KneePoint sharp{1 * kMiB, 1.05 * kMiB, 1 * kMiB};
  EXPECT_GT(kUnits * sharing_footprint(sharp, {}, kUnits), sharp.to);
  EXPECT_LT(sharing_footprint(sharp, {}, kUnits), sharp.from);
}

// A knee that seems to begin too early, as where chases had not settled.
TEST(Sharing, a_wide_knee_needs_a_footprint_where_the_curve_rises) {
  const KneePoint wide{0.4 * kMiB, 2.6 * kMiB, 1.3 * kMiB};
  const std::vector<CurvePoint> curve =
      curve_of(test::chase_observations(made(1.2), 0.02, 1), Estimator::latency);
  const double bytes = sharing_footprint(wide, curve, kUnits);
  EXPECT_LT(sharing_contrast(curve, 0.7 * wide.from, kUnits), kCertainContrast);
  EXPECT_GT(sharing_contrast(curve, bytes, kUnits), 1.9);
  EXPECT_LT(bytes, 0.85 * kMiB);  // one unit alone surely hits in all of it
}

TEST(Sharing, without_a_curve_a_wide_knee_has_no_footprint) {
  EXPECT_DOUBLE_EQ(sharing_footprint({1 * kMiB, 4 * kMiB, 2 * kMiB}, {}, kUnits), 0.7 * kMiB);
  EXPECT_DOUBLE_EQ(sharing_contrast({}, kMiB, kUnits), 1);
}

TEST(Sharing, as_many_bytes_of_one_unit_as_of_all) {
  const std::vector<CurvePoint> curve = {{1 * kMiB, 10e-9}, {2 * kMiB, 40e-9}, {4 * kMiB, 80e-9}};
  EXPECT_NEAR(sharing_contrast(curve, 1 * kMiB, 2), 4, 1e-9);
  EXPECT_NEAR(sharing_contrast(curve, 1 * kMiB, 4), 8, 1e-9);
}

}  // namespace
}  // namespace assay::probe
