// Phases: what is refused of them, and their text.
#include "ir/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ir/commands.h"
#include "tests/ir/plan_samples.h"

namespace assay::ir {
namespace {

using test::chain;
using ::testing::HasSubstr;

using Phases = std::vector<std::vector<int>>;

std::string faults(Plan plan, Phases phases) {
  plan.phases = std::move(phases);
  return render(verify(plan));
}

// As chain(), but both products are of the inputs.
Plan independent() {
  Plan plan = chain(true);
  plan.steps[1].arguments = {0, 1, 3};
  return plan;
}

TEST(Phases, EachStepIsInOne) {
  const Plan plan = independent();
  EXPECT_EQ(faults(plan, {{0}, {1}}), "");
  EXPECT_EQ(faults(plan, {{0, 1}}), "");
  EXPECT_EQ(faults(plan, {{1}, {0}}), "");
  EXPECT_THAT(faults(plan, {{0}}), HasSubstr("step second is in no phase"));
  EXPECT_THAT(faults(plan, {{0, 1}, {0}}), HasSubstr("step first runs twice, in phases 0 and 1"));
  EXPECT_THAT(faults(plan, {{0, 2, 1}}), HasSubstr("phase 0 runs step 2, there are 2"));
  EXPECT_THAT(faults(plan, {{0, 1}, {}}), HasSubstr("phase 1 has no steps"));
}

TEST(Phases, WhatIsReadWasWrittenInAnEarlierOne) {
  for (const bool rows_alike : {true, false}) {  // groups of one launch are on any unit
    const Plan plan = chain(rows_alike);
    EXPECT_EQ(faults(plan, {{0}, {1}}), "");
    EXPECT_THAT(faults(plan, {{0, 1}}),
                HasSubstr("steps first and second of phase 0 may run at once, but the second reads "
                          "what the first writes (tensor c1)"));
    EXPECT_THAT(faults(plan, {{1}, {0}}),
                HasSubstr("step second in phase 0 runs before first in phase 1, but the second "
                          "reads what the first writes (tensor c1)"));
  }
}

TEST(Phases, SharedBytesAreNotTouchedAtOnce) {
  Plan plan = independent();
  plan.steps[1].arguments = {0, 1, 2};
  EXPECT_THAT(faults(plan, {{0, 1}}), HasSubstr("both write (tensor c1)"));
  plan = independent();
  plan.tensors[3].offset = plan.tensors[2].offset;
  EXPECT_THAT(faults(plan, {{0, 1}}), HasSubstr("both write (tensors c1 and c2 share bytes)"));
  plan = independent();
  plan.steps[1].needed_if = NeededIf{2, true};  // what the first writes
  EXPECT_THAT(faults(plan, {{0, 1}}), HasSubstr("the second reads what the first writes"));
  EXPECT_EQ(faults(plan, {{0}, {1}}), "");
}

TEST(Phases, AreInsteadOfASchedule) {
  Plan plan = independent();
  plan.schedule = schedule_of(plan);
  EXPECT_THAT(faults(plan, {{0, 1}}), HasSubstr("phases and a schedule"));
}

TEST(Phases, MeanABarrierBehindEach) {
  Plan plan = independent();
  plan.phases = {{1, 0}};
  const int64_t groups = group_count(plan.programs[0]);
  EXPECT_EQ(schedule_of(plan),
            (std::vector<Command>{test::run(1, 0, 2, 0, groups), test::run(0, 0, 2, 0, groups),
                                  test::barrier(2)}));
}

TEST(PhasesText, ComesBack) {
  Plan plan = independent();
  plan.phases = {{0}, {1}};
  const std::string text = print_plan(plan);
  EXPECT_THAT(text, HasSubstr("phases:\n  - [0]\n  - [1]\n"));
  const Result<Plan> back = parse_plan(text, "plan.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags());
  EXPECT_EQ(*back, plan);
}

TEST(PhasesText, FaultsStandAtTheirPhases) {
  Plan plan = chain(true);
  plan.phases = {{0}, {1}};
  const std::string whole = print_plan(plan);
  const auto line_of = [&](size_t position) {
    return "plan.yaml:" +
           std::to_string(1 + std::count(whole.begin(),
                                         whole.begin() + static_cast<ptrdiff_t>(position), '\n')) +
           ":";
  };
  const size_t second = whole.find("  - [1]");
  const auto with = [&](const std::string& phase) {
    std::string text = whole;
    text.replace(second, std::string("  - [1]").size(), "  - " + phase);
    const Result<Plan> read = parse_plan(text, "plan.yaml");
    return read.ok() ? std::string("ok") : render(read.diags());
  };
  EXPECT_EQ(with("[1]"), "ok");
  for (const auto& [phase, why] :
       std::vector<std::pair<std::string, std::string>>{{"[2]", "2"},
                                                        {"[]", "phase 1 has no steps"},
                                                        {"[0, 1]", "step first runs twice"},
                                                        {"1", "a phase"},
                                                        {"[x]", "x"}}) {
    EXPECT_THAT(with(phase), HasSubstr(why)) << phase;
    EXPECT_THAT(with(phase), HasSubstr(line_of(second))) << phase;
  }
  std::string both = whole;
  both.replace(both.find("  - [0]"), std::string("  - [0]\n  - [1]\n").size(), "  - [0, 1]\n");
  const Result<Plan> read = parse_plan(both, "plan.yaml");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(render(read.diags()), HasSubstr("may run at once"));
}

}  // namespace
}  // namespace assay::ir
