// Levels from latency curves: synthetic ones with noise, and one recorded on a real machine.
#include "probe/inference/knee.h"

#include <gtest/gtest.h>

#include "probe/inference/power_mean.h"
#include "probe/inference/segment.h"
#include "tests/probe/synthetic.h"

namespace assay::probe {
namespace {

using test::SyntheticLevel;

constexpr double kKiB = 1024, kMiB = 1024 * 1024;

Levels levels_of(const std::vector<SyntheticLevel>& made, double noise, unsigned seed) {
  return find_levels(curve_of(test::chase_observations(made, noise, seed), Estimator::latency));
}

TEST(Segment, FindsTheStepAndNothingElse) {
  const std::vector<double> y = {1, 1.01, 0.99, 1, 2, 2.01, 1.99, 2};
  const auto s = segment(y, 0.05);
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].end, 4u);
  EXPECT_NEAR(s[1].mean, 2, 1e-9);
  EXPECT_EQ(segment(y, 100).size(), 1u);
  EXPECT_TRUE(segment({}, 1).empty());
}

TEST(Segment, IsotonicNeverFallsAndKeepsTheMean) {
  const std::vector<double> y = {1, 3, 2, 2, 5, 4};
  const auto z = isotonic(y);
  double sum_y = 0, sum_z = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    sum_y += y[i];
    sum_z += z[i];
    if (i > 0) {
      EXPECT_LE(z[i - 1], z[i]);
    }
  }
  EXPECT_NEAR(sum_y, sum_z, 1e-12);
}

TEST(Knee, SharpKneesAreFoundUnderNoise) {
  const std::vector<SyntheticLevel> made = {
      {48 * kKiB, 1.4e-9, 0}, {1 * kMiB, 4.5e-9, 0}, {16 * kMiB, 20e-9, 0}, {0, 100e-9, 0}};
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Levels l = levels_of(made, 0.02, seed);
    ASSERT_EQ(l.knees.size(), 3u) << seed;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_LE(l.knees[i].from, made[i].capacity * 1.01) << seed;
      EXPECT_GE(l.knees[i].to, made[i].capacity) << seed;
      EXPECT_NEAR(std::log2(l.knees[i].capacity / made[i].capacity), 0, 0.25) << seed;
    }
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(l.plateaus[i].seconds / made[i].seconds, 1, 0.03) << seed;
  }
}

TEST(Knee, ASmearedKneeHasAWideInterval) {
  const std::vector<SyntheticLevel> made = {
      {48 * kKiB, 1.4e-9, 0}, {1.3 * kMiB, 4.5e-9, 1.2}, {0, 45e-9, 0}};
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Levels l = levels_of(made, 0.03, seed);
    ASSERT_EQ(l.knees.size(), 2u) << seed;
    EXPECT_LE(l.knees[1].from, 1.5 * kMiB);
    EXPECT_GE(l.knees[1].to, 2.2 * kMiB);
    EXPECT_GT(l.knees[1].capacity, l.knees[1].from);
    EXPECT_LT(l.knees[1].capacity, l.knees[1].to);
  }
}

TEST(Knee, ThereIsNoneWhereThereIsNone) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    EXPECT_TRUE(levels_of({{0, 90e-9, 0}}, 0.05, seed).knees.empty()) << seed;
    EXPECT_EQ(levels_of({{0, 90e-9, 0}}, 0.05, seed).plateaus.size(), 1u) << seed;
  }
  EXPECT_TRUE(find_levels({}).plateaus.empty());
}

TEST(Knee, ASlowRiseIsNotALevel) {
  std::vector<CurvePoint> curve;
  for (const double b : test::footprints(8192, 64 * kMiB, 4))
    curve.push_back({b, 5e-9 * std::pow(b / 8192, 0.015)});
  EXPECT_TRUE(find_levels(curve).knees.empty());
}

// Least latency per footprint in ns, on a cloud machine with 48 KiB, 2 MiB and a third level of
// which 8 to 12 MiB were effective beside co-tenants.
TEST(Knee, RecordedCurve) {
  const std::vector<CurvePoint> curve = {
      {32768, 1.392},       {38912, 1.395},       {46336, 1.519},       {55104, 4.569},
      {65472, 4.764},       {77888, 4.698},       {92672, 4.687},       {110208, 4.640},
      {131008, 4.703},      {155840, 4.759},      {185344, 4.451},      {220416, 4.703},
      {262080, 4.454},      {311680, 4.453},      {370688, 4.453},      {440832, 4.745},
      {524224, 4.843},      {623424, 4.480},      {741440, 4.889},      {881728, 4.894},
      {1048512, 4.870},     {1246912, 4.484},     {1482880, 5.379},     {1763456, 10.019},
      {2097088, 19.550},    {2493888, 34.120},    {2965760, 36.797},    {3526912, 39.840},
      {4194240, 43.508},    {4987840, 44.789},    {5931584, 43.651},    {7053888, 43.926},
      {8388544, 39.024},    {9975744, 64.374},    {11863232, 57.515},   {14107840, 113.620},
      {16777152, 118.444},  {23726464, 110.616},  {33554304, 107.006},  {47452928, 119.198},
      {67108608, 106.178},  {94905920, 103.941},  {134217216, 112.210}, {189811840, 105.339},
      {268434496, 101.161}, {379623680, 110.914}, {536868992, 105.320}};
  const Levels l = find_levels(curve);
  ASSERT_EQ(l.knees.size(), 3u);
  EXPECT_GE(l.knees[0].from, 46336 - 1);
  EXPECT_LE(l.knees[0].to, 55104);
  EXPECT_NEAR(l.knees[1].capacity / (1.9 * kMiB), 1, 0.12);
  EXPECT_GT(l.knees[2].capacity, 7 * kMiB);
  EXPECT_LT(l.knees[2].capacity, 13 * kMiB);
}

TEST(Step, LinesAndNothing) {
  EXPECT_EQ(find_step(std::vector<double>{5, 5.1, 5, 5, 9, 9.2, 9}, 1.15), 4u);
  EXPECT_FALSE(find_step(std::vector<double>{5, 5.1, 5, 5.2}, 1.15));
  EXPECT_FALSE(find_step(std::vector<double>{5, 9, 5, 5.2}, 1.15));  // a spike is no step
}

TEST(PowerMean, RecoversWhatItWasMadeOf) {
  const PowerMean made{12e9, 60e9, 4, 0, true};
  std::vector<UnitsPoint> points;
  for (const double n : {1, 2, 3, 4, 6, 9, 16}) points.push_back({n, power_mean(n, made)});
  const auto fit = fit_power_mean(points);
  ASSERT_TRUE(fit && fit->identified);
  EXPECT_NEAR(fit->total / made.total, 1, 0.03);
  EXPECT_NEAR(fit->sharpness / made.sharpness, 1, 0.2);
  EXPECT_LT(fit->error, 0.01);
}

TEST(PowerMean, DoesNotClaimALimitItNeverSaw) {
  EXPECT_FALSE(fit_power_mean(std::vector<UnitsPoint>{{1, 10e9}}));
  EXPECT_FALSE(fit_power_mean(std::vector<UnitsPoint>{{1, 10e9}, {2, 19e9}})->identified);
  EXPECT_FALSE(fit_power_mean(std::vector<UnitsPoint>{{1, 10e9}, {2, 20e9}, {4, 40e9}, {8, 80e9}})
                   ->identified);
}

// A last cache with co-tenants: its plateau slants over half an octave, between ramps as long.
std::vector<CurvePoint> slanting() {
  std::vector<CurvePoint> out;
  for (double o = 14; o < 28; o += 0.25) {
    const double up = std::clamp((o - 19.5) / 1.0, 0.0, 1.0),
                 far = std::clamp((o - 21.1) / 1.2, 0.0, 1.0);
    const double slant = std::clamp(o - 20.5, 0.0, 0.6) * 0.2;
    out.push_back({std::exp2(o), 4e-9 * std::pow(3, up) * std::exp(slant) * std::pow(11, far)});
  }
  return out;
}

TEST(Knee, ADeclaredPlateauMayBeShortAndSlant) {
  const std::vector<CurvePoint> curve = slanting();
  const Levels plain = find_levels(curve), expected = find_levels(curve, 3);
  ASSERT_EQ(plain.plateaus.size(), 2u) << "on its own it is a part of the ramp";
  ASSERT_EQ(expected.plateaus.size(), 3u);
  ASSERT_EQ(expected.knees.size(), 2u);
  EXPECT_NEAR(expected.plateaus[1].seconds, 12.5e-9, 1.5e-9);
  EXPECT_LT(expected.knees[0].capacity, expected.plateaus[1].last);
  EXPECT_GT(expected.knees[1].capacity, expected.plateaus[1].first);
}

TEST(Knee, BurstsOfCoTenantsMakeNoLevel) {
  const std::vector<SyntheticLevel> made = {
      {48 * kKiB, 1e-9, 0.3}, {1 * kMiB, 4e-9, 0.5}, {32 * kMiB, 12e-9, 0.5}, {0, 120e-9, 0}};
  std::vector<CurvePoint> curve =
      curve_of(test::chase_observations(made, 0.02, 7), Estimator::latency);
  const Levels quiet = find_levels(curve);
  for (CurvePoint& p : curve)
    if (p.bytes > 200 * kKiB && p.bytes < 600 * kKiB) p.seconds *= 9;
  const Levels disturbed = find_levels(curve);
  ASSERT_EQ(quiet.plateaus.size(), 4u);
  ASSERT_EQ(disturbed.plateaus.size(), 4u);
  for (size_t i = 0; i < quiet.knees.size(); ++i)
    EXPECT_NEAR(disturbed.knees[i].capacity / quiet.knees[i].capacity, 1, 0.05) << i;
}

// Of five levels in the curve, the four that caches of these sizes leave.
Levels four_of(const std::vector<SyntheticLevel>& made, const std::vector<double>& sizes) {
  const std::vector<CurvePoint> curve =
      curve_of(test::chase_observations(made, 0.01, 3), Estimator::latency);
  EXPECT_EQ(find_levels(curve).plateaus.size(), 5u);
  EXPECT_EQ(find_levels(curve, 0, std::span(sizes).first(1)).plateaus.size(), 5u)
      << "a system that declares the first cache alone says nothing of the others";
  Levels four = find_levels(curve, 0, sizes);
  EXPECT_EQ(four.plateaus.size(), 4u);
  EXPECT_EQ(four.shown, 5u);
  return four;
}

TEST(Knee, OfTooManyLevelsThoseNearDeclaredSizesStay) {
  const Levels four = four_of({{48 * kKiB, 1e-9, 0},
                               {1 * kMiB, 4e-9, 0},
                               {8 * kMiB, 12e-9, 0},
                               {17 * kMiB, 60e-9, 0},
                               {0, 120e-9, 0}},
                              {48 * kKiB, 1 * kMiB, 16 * kMiB});
  EXPECT_NEAR(four.plateaus.at(2).seconds, 12e-9, 1e-9);
  EXPECT_GT(four.knees.at(2).to, 16 * kMiB) << "where the one that went was is a part of the ramp";
}

// Far memory in two steps, since co-tenants came while it was measured, and little of the last
// cache.
TEST(Knee, AStepOfFarMemoryIsNoLevelWhereTheCachesAreDeclared) {
  const Levels four = four_of({{32 * kKiB, 1e-9, 0},
                               {1 * kMiB, 4e-9, 0},
                               {4 * kMiB, 12e-9, 0},
                               {78 * kMiB, 90e-9, 0},
                               {0, 130e-9, 0}},
                              {32 * kKiB, 1 * kMiB, 32 * kMiB});
  EXPECT_NEAR(four.plateaus.at(2).seconds, 12e-9, 1e-9);
  EXPECT_LT(four.knees.at(2).from, 8 * kMiB);
  EXPECT_NEAR(four.plateaus.at(3).seconds, 130e-9, 10e-9);
}

// Threads on a processor, whose loads take long in any cache: the second level is 1.27 times as
// slow as the first, and the ramp after the third has a flat part.
TEST(Knee, ASmallStepIsALevelWhereTheCachesAreDeclared) {
  const std::vector<SyntheticLevel> made = {{48 * kKiB, 8.7e-9, 0},
                                            {1 * kMiB, 11e-9, 0.3},
                                            {7 * kMiB, 20e-9, 0},
                                            {14 * kMiB, 70e-9, 0},
                                            {0, 145e-9, 0}};
  const std::vector<CurvePoint> curve =
      curve_of(test::chase_observations(made, 0.02, 5), Estimator::latency);
  const std::vector<double> sizes = {48 * kKiB, 1 * kMiB, 32 * kMiB};
  EXPECT_NEAR(find_levels(curve).plateaus.at(1).seconds, 20e-9, 2e-9) << "too near the first";
  const Levels l = find_levels(curve, 4, sizes);
  ASSERT_EQ(l.plateaus.size(), 4u);
  EXPECT_NEAR(l.plateaus[1].seconds, 11e-9, 0.5e-9);
  EXPECT_NEAR(l.plateaus[2].seconds, 20e-9, 1e-9);
  EXPECT_NEAR(std::log2(l.knees[0].capacity / (48 * kKiB)), 0, 0.3);
  EXPECT_NEAR(std::log2(l.knees[1].capacity / (1 * kMiB)), 0, 0.5);
}

TEST(Knee, ALevelWithoutAPlateauIsNotFoundThoughDeclared) {
  std::vector<CurvePoint> ramp;
  for (double o = 14; o < 28; o += 0.25)
    ramp.push_back({std::exp2(o), 4e-9 * std::pow(30, std::clamp((o - 18) / 6, 0.0, 1.0))});
  EXPECT_EQ(find_levels(ramp, 5).plateaus.size(), find_levels(ramp).plateaus.size());
}

}  // namespace
}  // namespace assay::probe
