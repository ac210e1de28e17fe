// assay estimate: the batch's table, types, launches, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/files/files.h"
#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kProfile = "nvidia/v100-pcie-16gb";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

double seconds_of(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"estimate", "--profile", kProfile, "--software",
                                    "library",  "--format",  "json"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome o = run_assay(words);
  EXPECT_EQ(o.code, 0) << o.err;
  return Json::parse(o.out).at("total").at("seconds").get<double>();
}

TEST(Estimate, ABatchKeepsItsOrderAndSaysWhichLineIsWrong) {
  const ScratchDirectory dir;
  EXPECT_EQ(write_text(dir.at("ops.txt"),
                       "relu n=1000 type=f16\n# a comment\n\nmattmul m=3\nadd n=5000\n"),
            Diags{});
  const Outcome o = run_assay({"estimate", "--batch-file", dir.at("ops.txt"), "--profile", kProfile,
                               "--software", "library", "--format", "csv"});
  EXPECT_EQ(o.code, 1);
  const std::vector<std::string> lines = lines_of(o.out);
  ASSERT_EQ(lines.size(), 4u) << o.out;
  EXPECT_EQ(lines[0], "op,type,seconds,low,high,bound");
  EXPECT_TRUE(lines[1].starts_with("relu n=1000 type=f16,f16,")) << lines[1];
  EXPECT_EQ(lines[2], "mattmul m=3,f32,,,,");
  EXPECT_TRUE(lines[3].starts_with("add n=5000,f32,")) << lines[3];
  EXPECT_THAT(o.err, HasSubstr("ops.txt:4: error: unknown operator 'mattmul'"));
}

TEST(Estimate, HalfTheBytesTakeHalfTheTime) {
  const double f32 = seconds_of({"--op", "relu n=268435456"}),
               f16 = seconds_of({"--op", "relu n=268435456", "--type", "f16"});
  EXPECT_NEAR(f32 / f16, 2, 0.05);
}

TEST(Estimate, LaunchesCostWhatIsSaid) {
  const double none = seconds_of({"--op", "add n=1000", "--launch", "0us"}),
               some = seconds_of({"--op", "add n=1000", "--launch", "5us"});
  EXPECT_NEAR(some - none, 5e-6, 1e-9);
}

TEST(Estimate, WarmInputsAreFaster) {
  const std::vector<std::string> op = {"--op", "relu n=200000", "--launch", "0us"};
  std::vector<std::string> warm = op;
  warm.insert(warm.end(), {"--caches", "warm"});
  EXPECT_LT(seconds_of(warm), 0.9 * seconds_of(op));
}

TEST(Estimate, AssaysOwnProgramsComputeF32AndStoreHalfOfIt) {
  const Outcome own = run_assay({"estimate", "--op", "relu n=100000", "--profile", kProfile,
                                 "--software", "assay", "--format", "json"});
  EXPECT_EQ(own.code, 0) << own.err;
  EXPECT_TRUE(Json::parse(own.out).at("printable").get<bool>());
  const Outcome f16 = run_assay({"estimate", "--op", "relu n=100000 type=f16", "--profile",
                                 kProfile, "--software", "assay", "--format", "json"});
  EXPECT_EQ(f16.code, 0) << f16.err;
  EXPECT_EQ(Json::parse(f16.out)["operators"][0]["type"], "f16");
  const Outcome compiled =
      run_assay({"compile", "--op", "relu n=100 type=f64", "--profile", kProfile, "-o", "nowhere"});
  EXPECT_EQ(compiled.code, 2);
  EXPECT_THAT(compiled.err,
              HasSubstr("kernels compute f32, f16, bf16, f8e4m3, f8e5m2 and i8, not f64"));
}

TEST(Estimate, RefusesWhatItCanNotMean) {
  const auto fault = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"estimate", "--profile", kProfile};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome o = run_assay(words);
    EXPECT_EQ(o.code, 2) << o.out;
    return o.err;
  };
  EXPECT_THAT(fault({}), HasSubstr("one of MODEL.onnx, --op and --batch-file is needed"));
  EXPECT_THAT(fault({"--op", "relu n=1", "--batch-file", "x"}), HasSubstr("one of MODEL.onnx"));
  EXPECT_THAT(fault({"--op", "relu n=1", "--software", "library", "--launch", "soon"}),
              HasSubstr("'soon' is no time"));
  EXPECT_THAT(fault({"--op", "relu n=1", "--software", "library", "--launch", "eager"}),
              HasSubstr("launch.eager"));
  EXPECT_THAT(fault({"--op", "relu n=1", "--type", "f17", "--software", "library"}),
              HasSubstr("unknown type 'f17'"));
  EXPECT_THAT(fault({"--op", "relu n=1", "--launch", "5us"}),
              HasSubstr("--launch is of a library's kernels"));
  EXPECT_THAT(fault({"--op", "relu n=1", "--caches", "warm"}),
              HasSubstr("--caches is of a library's kernels"));
  EXPECT_THAT(fault({"--op", "relu n=1", "--dim", "N=1"}), HasSubstr("--dim and --shape"));
}

}  // namespace
}  // namespace assay::test
