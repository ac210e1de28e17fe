// What `--only` selects.
#include "probe/experiments/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "probe/experiments/experiments.h"

namespace assay::probe {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Selection, AnExperimentAloneAndInTheTablesOrder) {
  EXPECT_THAT(*select_experiments({}), IsEmpty());
  EXPECT_THAT(*select_experiments({"bandwidth"}), ElementsAre("bandwidth"));
  EXPECT_THAT(*select_experiments({"launch", "clock"}), ElementsAre("clock", "launch"));
}

TEST(Selection, ATopicWithAllThatItsExperimentsNeed) {
  for (const char* topic : {"compute", "memory", "control"}) {
    const std::vector<std::string> all = *select_experiments({topic});
    int own = 0;
    for (const Experiment& e : experiments()) {
      const bool is_there = std::find(all.begin(), all.end(), e.name) != all.end();
      if (std::string(e.topic) == topic) {
        EXPECT_TRUE(is_there) << e.name;
        ++own;
      }
      if (!is_there) continue;
      for (const std::string& need : needs_of(e)) EXPECT_THAT(all, Contains(need)) << e.name;
    }
    EXPECT_GE(own, 4) << topic;
    EXPECT_LT(all.size(), experiments().size()) << topic;
  }
  EXPECT_THAT(*select_experiments({"memory"}), Contains("fma")) << "bandwidth needs it";
  EXPECT_THAT(*select_experiments({"memory"}), Contains("forms")) << "fma does";
  EXPECT_THAT(*select_experiments({"memory"}), Not(Contains("launch")));
}

TEST(Selection, EveryExperimentButTheChecksHasATopic) {
  for (const Experiment& e : experiments())
    EXPECT_EQ(*e.topic == 0, std::string(e.name) == "checks") << e.name;
}

TEST(Selection, WhatItNeedsStandsBeforeIt) {
  std::vector<std::string> before;
  for (const Experiment& e : experiments()) {
    for (const std::string& need : needs_of(e)) EXPECT_THAT(before, Contains(need)) << e.name;
    before.emplace_back(e.name);
  }
}

TEST(Selection, ANameThatIsNoneIsAnErrorWithAHint) {
  const auto asked = select_experiments({"memroy", "clock", "x"});
  ASSERT_FALSE(asked.ok());
  ASSERT_EQ(asked.diags().size(), 2u);
  EXPECT_THAT(asked.diags()[0].message,
              HasSubstr("there is no experiment 'memroy'; there are: checks, clock"));
  EXPECT_THAT(asked.diags()[0].message, HasSubstr("or all of a topic: compute, memory, control"));
  EXPECT_THAT(render(asked.diags()), HasSubstr("did you mean 'memory'?"));
}

}  // namespace
}  // namespace assay::probe
