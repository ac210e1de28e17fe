// Which experiments a budget suffices for, and what is learned on the way.
#include "probe/schedule.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace assay::probe {
namespace {

using testing::ElementsAre;

constexpr Experiment kTable[] = {{"needed", "", "", "", 1, 0, "", nullptr},
                                 {"special", "", "", "", 1, 2, "", nullptr},
                                 {"refines", "", "", "", 2, 1, "", nullptr},
                                 {"last", "", "", "", 1, 0, "", nullptr}};

std::vector<Step> steps_with(int kernels) {
  std::vector<Step> out;
  for (const Experiment& e : kTable) out.push_back({&e, 0, e.weight, kernels});
  return out;
}

// Runs a schedule on a device where each step loads for `loading` seconds and then takes its share,
// at least `round`. The names that ran; `left` becomes what remained.
std::vector<std::string> run(Schedule schedule, double& left, double loading, double round) {
  std::vector<std::string> out;
  while (const auto turn = schedule.next(left)) {
    out.emplace_back(turn->step.experiment->name);
    left -= loading + std::max(round, turn->share);
    schedule.learn(turn->step, loading, round);
  }
  return out;
}

TEST(Schedule, AllRunInOrderAndFillTheTimeWhereItSuffices) {
  double left = 10;
  EXPECT_THAT(run(Schedule(steps_with(0), 10), left, 0.1, 0.2),
              ElementsAre("needed", "special", "refines", "last"));
  EXPECT_NEAR(left, 0, 0.5);
  EXPECT_GE(left, -0.11) << "the first loading was not known";
}

// Ten kernels of a tenth of a second each: two of the four fit into 3 s.
TEST(Schedule, TheLeastUsefulAreLeftOutWhereKernelsBuildSlowly) {
  double left = 3;
  EXPECT_THAT(run(Schedule(steps_with(10), 3), left, 1, 0.2), ElementsAre("needed", "last"));
  EXPECT_GE(left, -0.3);
}

// A round took half as long again as its share. So would that of `refines`: 2.4 s of the 2.8 that
// are left, of which `last` needs 1.2. A special one still fits.
TEST(Schedule, WhatALongRoundUsedUpIsTakenFromWhatFitsNoLonger) {
  double left = 4;
  EXPECT_THAT(run(Schedule(steps_with(0), 4), left, 0.01, 1.2),
              ElementsAre("needed", "special", "last"));
}

TEST(Schedule, AStepReservesTheTimeOfMoreUsefulOnes) {
  Schedule schedule(steps_with(0), 10);
  schedule.learn(steps_with(0)[0], 0.5, 1);
  (void)schedule.next(10);
  const auto special = schedule.next(9);
  ASSERT_TRUE(special.has_value());
  EXPECT_STREQ(special->step.experiment->name, "special");
  // Two steps of 0.5 s of loading, and rounds that take half of their shares of 4 s and 2 s.
  EXPECT_NEAR(special->reserved, 2 * 0.5 + (4.0 + 2.0) / 2, 0.01);
}

TEST(Schedule, LooksAreSpreadEvenly) {
  const std::vector<Step> all = steps_of(steps_with(0), {{&kTable[0], 1, 1, 0}});
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[2].repetition, 1) << "in the middle";
}

TEST(Kernels, APatternHasWordsAndNumbers) {
  EXPECT_TRUE(matches("chase", "chase"));
  EXPECT_FALSE(matches("chase", "chases_4"));
  EXPECT_TRUE(matches("op_*_#_#", "op_fma+add_16_8"));
  EXPECT_FALSE(matches("op_*_#_#", "op_fma_f16_16_8"));
  EXPECT_FALSE(matches("read_#", "read_"));
  EXPECT_TRUE(matches("matrix_**", "matrix_amx_bf16_2"));
}

}  // namespace
}  // namespace assay::probe
