// Plans whose steps are launched in phases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "simulator/estimate.h"
#include "simulator/phase_dispatch.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

using simulator::dispatch;
using simulator::DispatchSpan;

TEST(Dispatch, GroupsGoToTheFirstFreeSlot) {
  // Four slots. Three groups of 5 s and two of 2 s: one of these beside them, one behind it.
  const std::vector<DispatchSpan> a =
      dispatch(std::vector<simulator::DispatchedStep>{{3, 5}, {2, 2}}, 4);
  EXPECT_DOUBLE_EQ(a[0].end, 5);
  EXPECT_DOUBLE_EQ(a[1].begin, 0);
  EXPECT_DOUBLE_EQ(a[1].end, 4);
  // The rest of a round is filled by the next step.
  const std::vector<DispatchSpan> b =
      dispatch(std::vector<simulator::DispatchedStep>{{6, 1}, {2, 1}}, 4);
  EXPECT_DOUBLE_EQ(b[0].end, 2);
  EXPECT_DOUBLE_EQ(b[1].begin, 1);
  EXPECT_DOUBLE_EQ(b[1].end, 2);
}

TEST(Dispatch, ManyRoundsTakeAsLongAsOneByOne) {
  for (const double groups : {1.0, 4.0, 5.0, 1001.0, 4096.0}) {
    const std::vector<DispatchSpan> t =
        dispatch(std::vector<simulator::DispatchedStep>{{groups, 0.5}}, 4);
    EXPECT_DOUBLE_EQ(t[0].end, 0.5 * std::ceil(groups / 4)) << groups;
  }
}

TEST(Dispatch, NeverBeatsItsBounds) {
  std::mt19937 rng(5);
  for (int round = 0; round < 300; ++round) {
    const double slots = 1 + static_cast<double>(rng() % 50);
    std::vector<simulator::DispatchedStep> steps;
    double work = 0, longest = 0;
    for (size_t s = 0; s < 1 + rng() % 6; ++s) {
      steps.push_back({1 + static_cast<double>(rng() % 200), 1 + static_cast<double>(rng() % 9)});
      work += steps.back().groups * steps.back().seconds / slots;
      longest = std::max(longest, steps.back().seconds);
    }
    double end = 0;
    for (const DispatchSpan& s : dispatch(steps, slots)) end = std::max(end, s.end);
    ASSERT_GE(end, work - 1e-9);
    ASSERT_LE(end, work + longest + 1e-9) << "a slot is idle only while the last groups run";
  }
}

model::Machine merging(double units) {
  model::Machine m = machine(small_gpu(4));
  m.units = units;
  m.merges = true;
  m.launch.value = 3e-6;
  return m;
}

// Products side by side that read and write different tensors.
ir::Plan products(int steps, int64_t groups, int units) {
  ir::Plan plan;
  plan.units = units;
  plan.programs = {product(16, 16 * groups, 64, 16, 4)};
  for (int s = 0; s < steps; ++s) add_step(plan, 0);
  return plan;
}

double seconds(const ir::Plan& plan, const model::Machine& m) {
  return simulator::simulate(plan, m).total.seconds;
}

std::vector<int> all(const ir::Plan& plan) {
  std::vector<int> out(plan.steps.size());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST(PlanPhases, OfOneStepTakeWhatLaunchesTake) {
  const model::Machine m = merging(16);
  ir::Plan plan = products(3, 8, 16);
  const simulator::PlanEstimate in_turn = simulator::simulate(plan, m);
  plan.phases = {{0}, {1}, {2}};
  const simulator::PlanEstimate e = simulator::simulate(plan, m);
  EXPECT_NEAR(e.total.seconds, in_turn.total.seconds, 1e-6 * in_turn.total.seconds);
  ASSERT_EQ(e.phases.size(), 3u);
  for (size_t s = 0; s < 3; ++s)
    EXPECT_NEAR(e.phases[s].seconds, in_turn.steps[s].seconds, 1e-6 * in_turn.total.seconds);
}

TEST(PlanPhases, SmallStepsTogetherTakeOneLaunchAndTheLongest) {
  const model::Machine m = merging(64);
  ir::Plan plan = products(4, 8, 64);
  ASSERT_EQ(ir::group_count(plan.programs[0]), 8);
  const double in_turn = seconds(plan, m);
  plan.phases = {all(plan)};
  const double together = seconds(plan, m);
  const double one = in_turn / 4 - m.launch.value;
  EXPECT_NEAR(together, m.launch.value + one, 0.2 * one);
}

TEST(PlanPhases, LargeStepsTogetherSaveLaunchesAlone) {
  const model::Machine m = merging(4);
  ir::Plan plan = products(3, 1000, 4);
  const double in_turn = seconds(plan, m);
  plan.phases = {all(plan)};
  const double together = seconds(plan, m), work = in_turn - 3 * m.launch.value;
  EXPECT_LT(together, in_turn - m.launch.value);
  EXPECT_NEAR(together - m.launch.value, work, 0.1 * work);
}

TEST(PlanPhases, LaunchesThatAreNotMergedAddTheirOwnTime) {
  model::Machine m = merging(64);
  ir::Plan plan = products(4, 8, 64);
  plan.phases = {all(plan)};
  const double merged = seconds(plan, m);
  m.merges = false;
  m.beside_launch.value = 1e-6;
  EXPECT_NEAR(seconds(plan, m), merged + 3e-6, 0.05 * merged);
}

TEST(PlanPhases, GroupsOfUnlikeSizesAreLaunchedApart) {
  const model::Machine m = merging(64);
  ir::Plan plan = products(2, 8, 64);
  plan.phases = {{0, 1}};
  const double alike = seconds(plan, m);
  plan.programs.push_back(plan.programs[0]);
  plan.steps[1].program = 1;
  EXPECT_NEAR(seconds(plan, m), alike, 1e-3 * alike) << "another program with as many threads";
  plan.programs[1].workers = {2, 1, 1};
  EXPECT_GT(seconds(plan, m), alike + 0.9 * m.launch.value) << "twice as many threads";
}

TEST(PlanPhases, TheTimelineHasEachStepAndABarrier) {
  const model::Machine m = merging(16);
  ir::Plan plan = products(3, 8, 16);
  plan.phases = {{0, 1}, {2}};
  const simulator::PlanEstimate e = simulator::simulate(plan, m);
  ASSERT_EQ(e.timeline.size(), 5u);
  EXPECT_DOUBLE_EQ(e.timeline[0].begin, 0);
  EXPECT_EQ(e.timeline[0].last, e.timeline[1].first) << "units side by side";
  EXPECT_EQ(e.timeline[1].last, 16);
  EXPECT_DOUBLE_EQ(e.timeline[2].begin, std::max(e.timeline[0].end, e.timeline[1].end));
  EXPECT_NEAR(e.timeline[2].end - e.timeline[2].begin, m.launch.value, 1e-12);
  EXPECT_NEAR(e.timeline.back().end, e.total.seconds, 1e-12);
}

}  // namespace
}  // namespace assay::test
