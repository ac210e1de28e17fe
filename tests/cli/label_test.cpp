// Steps are shown by what they compute; their names stay in JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(Label, TablesAndExplanationsShowTheOperatorWithItsShape) {
  const ScratchDirectory dir;
  const std::string bundle = dir.at("bundle");
  const Environment cache = {{"XDG_CACHE_HOME", dir.at("cache")}};
  const Outcome compiled =
      run_assay({"compile", "--op", "conv c=8 h=9 w=9 o=16 r=3 s=3", "--profile",
                 "generic/x86-avx512-2core", "-o", bundle, "--no-build"},
                cache);
  ASSERT_EQ(compiled.code, 0) << compiled.err;

  const Outcome explained = run_assay({"simulate", bundle, "--explain"});
  EXPECT_THAT(explained.out, HasSubstr("\nconv 16x9x9 3x3  ")) << "a row of the table";
  EXPECT_THAT(explained.out, HasSubstr("\nconv 16x9x9 3x3\n")) << "the head of its terms";
  const json step =
      json::parse(run_assay({"simulate", bundle, "--format", "json"}).out)["steps"][0];
  EXPECT_EQ(step["name"], "conv");
  EXPECT_EQ(step["label"], "conv 16x9x9 3x3");

  const std::vector<std::string> run = {"run", bundle, "--device", "cpu:0", "--repeat", "1"};
  EXPECT_THAT(run_assay(run, cache).out, HasSubstr("\nconv 16x9x9 3x3  "));
  std::vector<std::string> as_json = run;
  as_json.insert(as_json.end(), {"--format", "json"});
  const json ran = json::parse(run_assay(as_json, cache).out)["operators"][0];
  EXPECT_EQ(ran["name"], "conv");
  EXPECT_EQ(ran["label"], "conv 16x9x9 3x3");
}

TEST(Label, ExplanationsNameTheInstructionAndWhatItsLanesHold) {
  const std::string words =
      "  instruction sm80.mma.m16n8k16.bf16.f32: 16 x 8 x 16\n"
      "  lanes: a repeat(1, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2); b ";
  const std::string a100 = "nvidia/a100-sxm4-40gb";
  EXPECT_THAT(run_assay({"estimate", "--op", "matmul m=128 n=128 k=64 type=bf16", "--profile", a100,
                         "--software", "assay", "--explain"})
                  .out,
              HasSubstr(words));
  const std::string program = ASSAY_SOURCE_DIR "/examples/gemm-mma.yaml";
  EXPECT_THAT(run_assay({"simulate", program, "--profile", a100, "--explain"}).out,
              HasSubstr(words));
}

}  // namespace
}  // namespace assay::test
