// assay whatif: two chips side by side, and what matters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/assay_process.h"

namespace assay::test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kProfile = "nvidia/v100-pcie-16gb";

Json asked(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"whatif",   "--profile", kProfile,   "--software", "library",
                                    "--launch", "0us",       "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome o = run_assay(words);
  EXPECT_EQ(o.code, 0) << o.err;
  return Json::parse(o.out);
}

double seconds(const Json& side) { return side.at("total").at("seconds").get<double>(); }

// Far memory bounds it, and hardly anything else takes time.
TEST(WhatIf, TwiceTheBandwidthNearlyHalvesACopy) {
  const Json j =
      asked({"--op", "relu n=268435456", "--against", "--set", "memory.hbm.bandwidth*=2"});
  EXPECT_LE(seconds(j.at("before")) / seconds(j.at("anew")), 2);
  EXPECT_GE(seconds(j.at("before")) / seconds(j.at("anew")), 1.7);
  EXPECT_DOUBLE_EQ(seconds(j.at("fixed")), seconds(j.at("anew"))) << "one entry alone";
}

TEST(WhatIf, WhatIsChosenAnewIsNeverSlower) {
  const Json j = asked({"--op", "matmul m=640 n=640 k=4096", "--against", "--set",
                        "topology.unit.count=20", "--set", "memory.shared.capacity=48 KiB"});
  EXPECT_LE(seconds(j.at("anew")), seconds(j.at("fixed")));
}

TEST(WhatIf, SensitivityPutsTheBottleneckFirst) {
  const Json j = asked({"--op", "relu n=268435456", "--sensitivity"});
  const Json& first = j.at("sensitivity").at(0);
  EXPECT_THAT(first.at("path").get<std::string>(), HasSubstr("memory.hbm.bandwidth"));
  EXPECT_LT(first.at("doubled").get<double>(), -0.1);
  for (const Json& row : j.at("sensitivity"))
    if (row.at("path") == "memory.hbm.bandwidth.read") {
      EXPECT_NEAR(row.at("slightly").get<double>(), -0.05 / 2, 0.02)
          << "half of the bytes are read";
    }
}

TEST(WhatIf, AnUnknownFieldThatMattersIsNamed) {
  const Outcome o = run_assay({"whatif", "--profile", kProfile, "--software", "library", "--op",
                               "relu n=268435456", "--set", "memory.hbm.bandwidth.write=unknown",
                               "--set", "memory.hbm.bandwidth.copy=unknown", "--sensitivity"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("weakest assumption: memory.hbm.bandwidth.write"));
}

TEST(WhatIf, Refusals) {
  const auto fault = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"whatif", "--profile", kProfile, "--op", "relu n=10"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome o = run_assay(words);
    EXPECT_EQ(o.code, 2) << o.out;
    return o.err;
  };
  EXPECT_THAT(fault({}), HasSubstr("nothing is asked"));
  EXPECT_THAT(fault({"--against", "--op", "add n=1"}), HasSubstr("stands behind --against"));
  EXPECT_THAT(fault({"--against", "--set"}), HasSubstr("--set is without its value"));
  EXPECT_THAT(fault({"--against", "--set", "memory.hbmm=1"}), HasSubstr("memory.hbm"));
  EXPECT_THAT(fault({"--against", "--profile", "nvidia/v1000"}), HasSubstr("did you mean"));
}

}  // namespace
}  // namespace assay::test
