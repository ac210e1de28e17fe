// What a probe may resume.
#include "probe/resume.h"

#include <gmock/gmock.h>

#include "probe/inference/doubts.h"
#include "support/version.h"

namespace assay::probe {
namespace {

Observations said(std::vector<std::pair<std::string, std::string>> facts) {
  Observations o;
  o.facts = std::move(facts);
  return o;
}

TEST(Resume, AnotherDeviceIsAnErrorThatNamesBoth) {
  const Diags why = check_same_device(said({{"device", "opencl:0"}}), "cpu:0", "dir");
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(render(why[0]),
            "dir/journal.jsonl: error: these are observations of opencl:0, not of cpu:0\nhint: "
            "--device opencl:0, or another directory\n");
  EXPECT_TRUE(
      check_same_device(said({{"device", "cpu:0"}, {"assay", kVersion}}), "cpu:0", "dir").empty());
  EXPECT_TRUE(check_same_device(said({}), "cpu:0", "dir").empty())
      << "the first format had no such fact";
}

TEST(Resume, AnotherVersionIsAnError) {
  EXPECT_THAT(render(check_same_device(said({{"assay", "0.0.9"}}), "cpu:0", "dir")),
              testing::HasSubstr("Assay 0.0.9 took these"));
}

TEST(Resume, AnotherDriverIsAnErrorTheDateIsNone) {
  const Observations before = said({{"name", "A"}, {"driver", "1"}, {"date", "yesterday"}});
  EXPECT_TRUE(
      check_same_driver(before, said({{"name", "A"}, {"driver", "1"}, {"date", "today"}}), "dir")
          .empty());
  EXPECT_TRUE(check_same_driver(before, said({{"name", "A"}}), "dir").empty());
  EXPECT_THAT(
      render(check_same_driver(before, said({{"name", "B"}, {"driver", "2"}}), "dir")),
      testing::AllOf(testing::HasSubstr("name was 'A'"), testing::HasSubstr("driver was '1'"),
                     testing::HasSubstr("without --resume")));
}

constexpr Experiment kTable[] = {{"line", "memory", "", "", 1, 0, "", nullptr},
                                 {"chase", "memory", "line", "", 1, 0, "", nullptr},
                                 {"latency", "memory", "chase", "", 1, 0, "", nullptr},
                                 {"clock", "compute", "", "", 1, 0, "", nullptr}};

Observations ended(std::vector<std::pair<const char*, Outcome>> endings) {
  Observations o;
  for (const auto& [experiment, outcome] : endings) {
    o.points.push_back({experiment, "x", {}, "s", {1}, {}, 0, {}});
    o.endings.push_back({experiment, outcome, 1, "made"});
  }
  return o;
}

std::vector<std::string> stale_of(std::vector<std::pair<const char*, Outcome>> endings,
                                  const std::vector<std::string>& asked = {}) {
  return stale(ended(std::move(endings)), kTable, asked);
}

TEST(Resume, ExperimentsWithoutWhatTheyNeedRunAgain) {
  using enum Outcome;
  EXPECT_THAT(stale_of({{"line", done}, {"chase", done}, {"latency", done}}), testing::IsEmpty());
  EXPECT_THAT(stale_of({{"line", crashed}, {"chase", done}, {"latency", done}, {"clock", done}}),
              testing::ElementsAre("chase", "latency"));
  EXPECT_THAT(stale_of({{"line", crashed}, {"chase", done}, {"line", done}}),
              testing::ElementsAre("chase"))
      << "made good too late";
  EXPECT_THAT(stale_of({{"line", crashed}, {"line", done}, {"chase", done}}), testing::IsEmpty());
}

TEST(Resume, UnselectedExperimentsAreNotMissed) {
  using enum Outcome;
  EXPECT_THAT(stale_of({{"latency", done}}), testing::IsEmpty());
  EXPECT_THAT(stale_of({{"latency", done}}, {"chase", "latency"}), testing::ElementsAre("latency"))
      << "it comes only now";
}

TEST(Resume, PartialExperimentsDoNotCount) {
  const Observations all =
      finished_only(ended({{"line", Outcome::crashed}, {"clock", Outcome::done}}));
  ASSERT_EQ(all.points.size(), 1u);
  EXPECT_EQ(all.points[0].experiment, "clock");
  Observations cut = ended({{"line", Outcome::crashed}});
  cut.endings.clear();
  EXPECT_EQ(finished_only(cut).points.size(), 1u) << "curves that others recorded have no endings";
}

// Where a chase ran at two clocks, the faster counts; of threads without a known clock there is
// none.
TEST(Evidence, OfThreadsWithoutAClockEverythingCounts) {
  Observations all = ended({{"line", Outcome::done}, {"clock", Outcome::crashed}});
  all.points[0].clock_hz = 1e9;
  all.points[0].foreign = 1;
  EXPECT_EQ(usable_observations(all).points.at(0).clock_hz, 1e9);
  EXPECT_EQ(usable_observations(all).points.at(0).foreign, 1);
  all.facts = {{"lanes", "threads"}, {"class", "gpu"}};
  const Observations of_a_gpu = usable_observations(all);
  ASSERT_EQ(of_a_gpu.points.size(), 1u) << "half a clock experiment does not count";
  EXPECT_EQ(of_a_gpu.points[0].clock_hz, std::nullopt);
  EXPECT_EQ(of_a_gpu.points[0].foreign, kNobody);
}

}  // namespace
}  // namespace assay::probe
