// The probe against simulated chips: it finds their profiles.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/probe/virtual/chip_profile.h"
#include "tests/probe/virtual/complete.h"
#include "tests/probe/virtual/probed.h"
#include "tests/probe/virtual/truth.h"
#include "tests/probe/virtual/with_effects.h"

namespace assay::probe {
namespace {

class Chips : public ::testing::TestWithParam<const char*> {};

TEST_P(Chips, AreFoundAsTheyAre) {
  const testing::WithEffects chip(testing::chip_file(GetParam()), "noise: 0.03\n");
  ProbeOptions options;
  options.max_bytes = int64_t{24} << 20;
  const auto result = testing::probed(GetParam(), chip.device(), options);
  ASSERT_TRUE(result.ok()) << render(result.diags());
  EXPECT_TRUE(result->warnings.empty()) << render(result->warnings);
  const std::vector<std::string> wrong = testing::differences(
      testing::completed(testing::chip_profile(GetParam())), result->profile, 0.05);
  std::string all;
  for (const std::string& w : wrong) all += "\n  " + w;
  EXPECT_TRUE(wrong.empty()) << all;
}

std::string name_of(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Small, Chips,
                         ::testing::Values("two-levels", "three-levels", "waves-of-32", "phone"),
                         name_of);

}  // namespace
}  // namespace assay::probe
