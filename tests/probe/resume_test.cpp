// What a probe may go on with.
#include "probe/resume.h"

#include <gmock/gmock.h>

#include "base/version.h"

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
  EXPECT_EQ(render(why[0]), "dir/journal.jsonl: error: these are observations of opencl:0, not of cpu:0\nhint: --device opencl:0, or another directory\n");
  EXPECT_TRUE(check_same_device(said({{"device", "cpu:0"}, {"assay", kVersion}}), "cpu:0", "dir").empty());
  EXPECT_TRUE(check_same_device(said({}), "cpu:0", "dir").empty()) << "the first journals did not say";
}

TEST(Resume, AnotherVersionIsAnError) {
  EXPECT_THAT(render(check_same_device(said({{"assay", "0.0.9"}}), "cpu:0", "dir")), testing::HasSubstr("Assay 0.0.9 took these"));
}

TEST(Resume, AnotherDriverIsAnErrorTheDateIsNone) {
  const Observations before = said({{"name", "A"}, {"driver", "1"}, {"date", "yesterday"}});
  EXPECT_TRUE(check_same_driver(before, said({{"name", "A"}, {"driver", "1"}, {"date", "today"}}), "dir").empty());
  EXPECT_TRUE(check_same_driver(before, said({{"name", "A"}}), "dir").empty());
  EXPECT_THAT(render(check_same_driver(before, said({{"name", "B"}, {"driver", "2"}}), "dir")),
              testing::AllOf(testing::HasSubstr("name was 'A'"), testing::HasSubstr("driver was '1'"), testing::HasSubstr("without --resume")));
}

}  // namespace
}  // namespace assay::probe
