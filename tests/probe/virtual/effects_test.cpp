// Chips with effects beyond their profile: each value is right, or its interval holds the truth, or
// it is unknown.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "probe/report/report.h"
#include "tests/probe/virtual/chip_profile.h"
#include "tests/probe/virtual/complete.h"
#include "tests/probe/virtual/probed.h"
#include "tests/probe/virtual/truth.h"
#include "tests/probe/virtual/with_effects.h"

namespace assay::probe {
namespace {

struct Effect {
  const char* name;
  const char* chip;
  const char* text;
};

std::string lines_of(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& line : all) out += "\n  " + line;
  return out;
}

ProbeOptions small() {
  ProbeOptions options;
  options.max_bytes = int64_t{24} << 20;
  return options;
}

std::ostream& operator<<(std::ostream& out, const Effect& e) { return out << e.name; }

class Effects : public ::testing::TestWithParam<Effect> {};

TEST_P(Effects, NoWrongValueLooksCertain) {
  const Effect& e = GetParam();
  const testing::WithEffects chip(testing::chip_file(e.chip),
                                  std::string("noise: 0.03\n") + e.text);
  const auto result = testing::probed(e.name, chip.device(), small());
  ASSERT_TRUE(result.ok()) << render(result.diags());
  const std::string wrong = lines_of(testing::contradictions(
      testing::completed(testing::chip_profile(e.chip), e.text), result->profile, 0.05));
  EXPECT_TRUE(wrong.empty()) << wrong;
}

constexpr Effect kEffects[] = {{"hashed", "two-levels", "hash: true\n"},
                               {"plru", "two-levels", "replacement: plru\n"},
                               {"random", "two-levels", "replacement: random\n"},
                               {"unprefetched", "two-levels", "prefetch: 'off'\n"},
                               {"victim", "two-levels", "victim: l2\n"},
                               {"rising", "two-levels", "dvfs: {from: 0.4, over: 2 ms}\n"},
                               {"hashed_waves", "waves-of-32", "hash: true\n"},
                               {"random_waves", "waves-of-32", "replacement: random\n"},
                               {"victim_waves", "waves-of-32", "victim: l2\n"}};

INSTANTIATE_TEST_SUITE_P(Slow, Effects, ::testing::ValuesIn(kEffects),
                         [](const auto& i) { return std::string(i.param.name); });

// The clock by the sentinel, over all blocks of an experiment: the slowest as a part of the
// fastest.
double drift(const Observations& all, const std::string& experiment) {
  std::vector<double> clocks;
  for (const Observation& o : all.points)
    if (o.experiment == experiment && o.clock_hz) clocks.push_back(*o.clock_hz);
  return clocks.empty() ? 1
                        : *std::min_element(clocks.begin(), clocks.end()) /
                              *std::max_element(clocks.begin(), clocks.end());
}

TEST(Heat, AChipThatThrottlesInMidRunIsFoundAndTheReportShowsIt) {
  const testing::WithEffects chip(testing::chip_file("two-levels"),
                                  "noise: 0.03\nthrottle: {after: 30 ms, to: 0.6}\n");
  const auto result = testing::probed("heat", chip.device(), small());
  ASSERT_TRUE(result.ok()) << render(result.diags());
  const std::string wrong = lines_of(testing::contradictions(
      testing::completed(testing::chip_profile("two-levels")), result->profile, 0.05));
  EXPECT_TRUE(wrong.empty()) << wrong;
  EXPECT_NEAR(drift(result->observations, "chase"), 0.6, 0.05)
      << "it was hot before the experiment, or not at all";
  const std::string page = report_html(result->observations, result->profile);
  EXPECT_NE(page.find("slowest to the fastest"), std::string::npos)
      << "the report does not speak of it";
  const testing::WithEffects cool(testing::chip_file("two-levels"), "noise: 0.03\n");
  const auto quiet = probe(cool.device(), small());
  ASSERT_TRUE(quiet.ok()) << render(quiet.diags());
  EXPECT_EQ(report_html(quiet->observations, quiet->profile).find("slowest to the fastest"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::probe
