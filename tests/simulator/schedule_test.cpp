// Plans whose units work through queues.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/run_queues.h"
#include "tests/ir/commands.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

using ir::Command;
using Kind = Command::Kind;
using simulator::QueueTimes;
using simulator::RunDemand;

Command run(int step, int first, int last, int64_t groups) {
  return test::run(step, first, last, 0, groups);
}

// Demands by command.
QueueTimes timed(const std::vector<Command>& schedule, int units,
                 const std::vector<RunDemand>& demands, simulator::QueueCosts costs) {
  return simulator::run_queues(schedule, units, costs,
                               [&](int c) { return demands[static_cast<size_t>(c)]; });
}

TEST(RunQueues, BarriersWaitForTheLast) {
  const QueueTimes t = timed({run(0, 0, 1, 4), run(1, 1, 2, 4), barrier(2), run(2, 0, 2, 4)}, 2,
                             {{3, 4, {}}, {5, 4, {}}, {}, {2, 2, {}}}, {0.5, 0.25, 0});
  EXPECT_DOUBLE_EQ(t.seconds, 5 + 0.5 + 2);
  ASSERT_EQ(t.slices.size(), 6u);  // the last run and the barrier on each unit
  EXPECT_DOUBLE_EQ(t.slices[0].end, 3);
  EXPECT_DOUBLE_EQ(t.slices[1].end, 5);
  EXPECT_DOUBLE_EQ(t.slices[2].begin, 3) << "unit 0 waits from there on";
  EXPECT_DOUBLE_EQ(t.slices[2].end, 5.5);
}

TEST(RunQueues, AWaitEndsWithItsSignal) {
  // Unit 1 waits for the first of unit 0's two steps alone.
  const std::vector<Command> schedule = {run(0, 0, 1, 1), signal(0, 0, 1), run(1, 0, 1, 1),
                                         wait(0, 1, 1, 2), run(2, 1, 2, 1)};
  const QueueTimes t =
      timed(schedule, 2, {{3, 1, {}}, {}, {4, 1, {}}, {}, {1, 1, {}}}, {0.5, 0.25, 0});
  EXPECT_DOUBLE_EQ(t.seconds, 7);
  const auto waited = std::ranges::find(t.slices, 3, &simulator::Slice::command);
  ASSERT_NE(waited, t.slices.end());
  EXPECT_DOUBLE_EQ(waited->begin, 0);
  EXPECT_DOUBLE_EQ(waited->end, 3.25);
  // A signal that is there already is not waited for.
  std::vector<Command> late = {run(0, 0, 1, 1), signal(0, 0, 1), run(1, 1, 2, 1), wait(0, 1, 1, 2),
                               run(2, 1, 2, 1)};
  EXPECT_DOUBLE_EQ(
      timed(late, 2, {{3, 1, {}}, {}, {4, 1, {}}, {}, {1, 1, {}}}, {0.5, 0.25, 0}).seconds, 5);
}

TEST(RunQueues, UnequalGroupsTakeUnequalTime) {
  // Three groups on two units: unit 0 has one of them, unit 1 two; then unit 0 goes on alone.
  const QueueTimes t =
      timed({run(0, 0, 2, 3), run(1, 0, 1, 1)}, 2, {{4, 2, {}}, {3, 1, {}}}, {0.5, 0.25, 0});
  EXPECT_DOUBLE_EQ(t.seconds, 5);
}

TEST(RunQueues, GroupsOfAUnitMeetBetweenItsRuns) {
  simulator::QueueCosts costs{0.5, 0.25, 0};
  costs.between = 0.125;
  const std::vector<RunDemand> demands = {{3, 1, {}}, {4, 1, {}}, {}, {2, 1, {}}};
  EXPECT_DOUBLE_EQ(
      timed({run(0, 0, 1, 1), run(1, 0, 1, 1), barrier(1), run(2, 0, 1, 1)}, 1, demands, costs)
          .seconds,
      3 + 0.125 + 4 + 0.5 + 2);
}

TEST(RunQueues, WhatRunsAtOnceSharesMemories) {
  // Each wants 80 % of a memory: both get half of it, until the shorter one is over.
  const QueueTimes t =
      timed({run(0, 0, 1, 1), run(1, 1, 2, 1)}, 2, {{1, 1, {0.8}}, {2, 1, {0.8}}}, {0, 0, 1});
  EXPECT_NEAR(t.seconds, 1.6 + (2 - 1), 1e-12);
  // One that wants little is not slowed: the other gets all that is left.
  const QueueTimes small =
      timed({run(0, 0, 1, 1), run(1, 1, 2, 1)}, 2, {{1, 1, {0.2}}, {1, 1, {1.0}}}, {0, 0, 1});
  EXPECT_NEAR(small.slices[0].end, 1, 1e-12);
  EXPECT_NEAR(small.seconds, 1 + 0.2, 1e-12);
  // Of two memories the one that is short counts.
  const QueueTimes two = timed({run(0, 0, 1, 1), run(1, 1, 2, 1)}, 2,
                               {{1, 1, {0.1, 0.75}}, {1, 1, {0.9, 0.75}}}, {0, 0, 2});
  EXPECT_NEAR(two.seconds, 1.5, 1e-12);
}

// Two products in a row that read and write different tensors.
ir::Plan two_products(int units) {
  ir::Plan plan;
  plan.units = units;
  plan.programs = {product(64, 64, 64, 16)};
  for (int s = 0; s < 2; ++s) add_step(plan, 0);
  return plan;
}

// A schedule that says what a plan without one means takes as long, and each of its steps.
TEST(PlanSchedule, StepsBehindBarriersTakeWhatTheyTakeWithoutASchedule) {
  const model::Machine m = machine(small_cpu(8, 2));
  ir::Plan plan = two_products(2);
  const simulator::PlanEstimate without = simulator::simulate(plan, m);
  plan.schedule = ir::schedule_of(plan);
  const simulator::PlanEstimate with = simulator::simulate(plan, m);
  EXPECT_NEAR(with.total.seconds, without.total.seconds, 1e-6 * without.total.seconds);
  for (size_t s = 0; s < 2; ++s)
    EXPECT_NEAR(with.steps[s].seconds, without.steps[s].seconds - m.launch.value,
                1e-6 * without.total.seconds);
  ASSERT_FALSE(without.timeline.empty());
  EXPECT_NEAR(without.timeline.back().end, without.total.seconds, 1e-12);
}

TEST(PlanSchedule, StepsSideBySideAreAsLongAsTheLonger) {
  const model::Machine m = machine(small_cpu(8, 2));
  ir::Plan plan = two_products(2);
  const double in_turn = simulator::simulate(plan, m).total.seconds;
  const int64_t groups = ir::group_count(plan.programs[0]);
  plan.schedule = {run(0, 0, 1, groups), run(1, 1, 2, groups)};
  const simulator::PlanEstimate e = simulator::simulate(plan, m);
  plan.schedule = {run(0, 0, 1, groups), run(1, 0, 1, groups)};
  const double alone = simulator::simulate(plan, m).total.seconds;
  EXPECT_LT(e.total.seconds, 0.7 * alone);
  EXPECT_GT(e.total.seconds, 0.45 * alone);
  EXPECT_NEAR(e.steps[0].seconds, e.total.seconds, 0.1 * e.total.seconds);
  EXPECT_GT(alone, in_turn);
}

}  // namespace
}  // namespace assay::test
