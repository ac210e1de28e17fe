// `validate schedules`, end to end on this machine's CPU, and what it refuses.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ValidateSchedules : public testing::Test {
 protected:
  Outcome run(const std::vector<std::string>& more, const std::string& table = "t.csv") const {
    std::vector<std::string> words = {
        "validate", "schedules",    "--profile", "generic/x86-avx512-2core",
        "-o",       dir_.at(table), "--rounds",  "1",
        "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_assay(words, {{"XDG_CACHE_HOME", dir_.at("cache")}});
  }
  ScratchDirectory dir_;
};

TEST_F(ValidateSchedules, RunsAPlanBySeveral) {
  const Outcome ran =
      run({"matmul m=256 n=1024 k=64 | softmax rows=256 columns=1024", "--schedules", "3"});
  if (ran.code == 3) GTEST_SKIP() << ran.err;
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json said = json::parse(ran.out);
  EXPECT_EQ(said["wrong"], 0);
  ASSERT_GE(said["rows"].size(), 3U);
  EXPECT_EQ(said["rows"][0]["schedule"], "one after the other");
  EXPECT_EQ(said["rows"][1]["schedule"], "chosen");
  for (const json& row : said["rows"]) {
    EXPECT_GT(row["predicted_s"], 0);
    EXPECT_GT(row["measured_s"], 0);
  }
  std::ifstream file(dir_.at("t.csv"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')),
            1 + said["rows"].size());
}

TEST_F(ValidateSchedules, Refusals) {
  EXPECT_THAT(run({"no.onnx"}).err, HasSubstr("no.onnx: error: there is no such file"));
  EXPECT_THAT(run({"banana m=2"}).err, HasSubstr("banana"));
  EXPECT_THAT(run({"relu n=64"}).err, HasSubstr("is one step"));
  EXPECT_THAT(run({"no.onnx"}, "t.txt").err, HasSubstr("the table is CSV"));
  EXPECT_EQ(run({"softmax rows=4 columns=4", "--device", "cpu:7"}).code, 3);
  EXPECT_FALSE(std::filesystem::exists(dir_.at("t.csv")));
}

}  // namespace
}  // namespace assay::test
