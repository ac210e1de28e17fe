// One cache of all units or one of each, where the knee is sharp and where it is wide.
#include "probe/inference/set_conflict.h"

#include <gtest/gtest.h>

#include "probe/inference/known.h"
#include "probe/inference/sharing.h"
#include "tests/probe/synthetic.h"

namespace assay::probe {
namespace {

using test::MadeLevel;
constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int kUnits = 2;

std::vector<MadeLevel> made(double smear) {
  return {{32 * kKiB, 2e-9, 0}, {1 * kMiB, 10e-9, smear}, {0, 90e-9, 0}};
}

// The chase of one unit, and of two in what `crowding` asks for; `shared`: they are as slow as one
// in twice as much.
Observations observed(double smear, bool shared, bool little = false) {
  Observations all;
  all.points = test::chase_observations(made(smear), 0.02, 1);
  const std::vector<CurvePoint> curve = curve_of(all.points, Estimator::latency);
  const KneePoint knee = find_levels(curve).knees.at(1);
  const double bytes = little ? 0.4 * knee.from : crowding(knee, curve, kUnits);
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

Sharing told(const Observations& all) { return known_from(all).sharing.at(1); }

TEST(Crowding, sharp_or_wide_the_knee_tells_one_cache_from_two) {
  for (const double smear : {0.0, 0.5, 1.2, 1.8})
    for (const bool shared : {false, true}) {
      const Sharing s = told(observed(smear, shared));
      EXPECT_EQ(s.shared, shared) << smear << ": " << s.why;
      EXPECT_TRUE(s.told) << smear << ": " << s.why;
    }
}

// Both would be as fast in so little: nothing is known by that.
TEST(Crowding, what_may_fit_together_is_told_by_nobody) {
  const Sharing s = told(observed(1.8, true, true));
  EXPECT_FALSE(s.told) << s.why;
  EXPECT_NE(s.why.find("may fit together"), std::string::npos) << s.why;
}

TEST(Crowding, a_sharp_knee_is_crowded_by_more_than_one_cache_holds) {
  const KneePoint sharp{1 * kMiB, 1.05 * kMiB, 1 * kMiB};
  EXPECT_GT(kUnits * crowding(sharp, {}, kUnits), sharp.to);
  EXPECT_LT(crowding(sharp, {}, kUnits), sharp.from);
}

// A knee that is thought to begin long before it does, as where chases had not settled.
TEST(Crowding, a_wide_knee_is_crowded_where_the_curve_rises) {
  const KneePoint wide{0.4 * kMiB, 2.6 * kMiB, 1.3 * kMiB};
  const std::vector<CurvePoint> curve =
      curve_of(test::chase_observations(made(1.2), 0.02, 1), Estimator::latency);
  const double bytes = crowding(wide, curve, kUnits);
  EXPECT_LT(told_apart(curve, 0.7 * wide.from, kUnits), kTold);
  EXPECT_GT(told_apart(curve, bytes, kUnits), 1.9);
  EXPECT_LT(bytes, 0.85 * kMiB);  // one unit alone surely finds all of it
}

TEST(Crowding, without_a_curve_a_wide_knee_is_left_alone) {
  EXPECT_DOUBLE_EQ(crowding({1 * kMiB, 4 * kMiB, 2 * kMiB}, {}, kUnits), 0.7 * kMiB);
  EXPECT_DOUBLE_EQ(told_apart({}, kMiB, kUnits), 1);
}

TEST(Crowding, as_many_bytes_of_one_unit_as_of_all) {
  const std::vector<CurvePoint> curve = {{1 * kMiB, 10e-9}, {2 * kMiB, 40e-9}, {4 * kMiB, 80e-9}};
  EXPECT_NEAR(told_apart(curve, 1 * kMiB, 2), 4, 1e-9);
  EXPECT_NEAR(told_apart(curve, 1 * kMiB, 4), 8, 1e-9);
}

}  // namespace
}  // namespace assay::probe
