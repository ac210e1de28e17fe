// `validate fusion`, end to end on this machine's CPU: its journal, and what it refuses.
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

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ValidateFusion : public testing::Test {
 protected:
  Outcome run(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"validate",  "fusion",
                                      "--profile", "generic/x86-avx512-2core",
                                      "-o",        dir_.at("t.csv"),
                                      "--rounds",  "1",
                                      "--format",  "json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_assay(words, {{"XDG_CACHE_HOME", dir_.at("cache")}});
  }
  ScratchDirectory dir_;
};

TEST_F(ValidateFusion, GoesOnWhereAnInterruptedRunEnded) {
  const Outcome whole = run({"--chains", "2"});
  if (whole.code == 3) GTEST_SKIP() << whole.err;
  ASSERT_EQ(whole.code, 0) << whole.err;
  const json first = json::parse(whole.out)["rows"][0];
  EXPECT_EQ(json::parse(whole.out)["chains"], 2);
  std::string journal = text_of(dir_.at("t.journal"));
  EXPECT_EQ(std::count(journal.begin(), journal.end(), '\n'), 3);
  journal.resize(journal.size() - 10);  // the last line is not whole
  std::ofstream(dir_.at("t.journal")) << journal;
  const Outcome rest = run({"--chains", "2", "--resume"});
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(json::parse(rest.out)["rows"].size(), 2U);
  EXPECT_EQ(json::parse(rest.out)["rows"][0], first) << "not measured again";
  const Outcome other = run({"--chains", "2", "--resume", "--seed", "2"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("t.journal:1: error: is the journal of another run"));
  std::ofstream(dir_.at("t.journal")) << journal.substr(0, journal.find('\n') + 1) << "banana\n";
  const Outcome broken = run({"--chains", "2", "--resume"});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("t.journal:2: error: is no line of such a journal"));
}

TEST_F(ValidateFusion, Refusals) {
  EXPECT_THAT(run({"--resume"}).err, HasSubstr("--resume: there is no journal"));
  const Outcome device = run({"--device", "cpu:7"});
  EXPECT_EQ(device.code, 3) << device.err;
  const Outcome table = run_assay(
      {"validate", "fusion", "--profile", "generic/x86-avx512-2core", "-o", dir_.at("t.txt")});
  EXPECT_EQ(table.code, 2);
  EXPECT_THAT(table.err, HasSubstr("the table is CSV"));
  EXPECT_FALSE(std::filesystem::exists(dir_.at("t.csv")));
  EXPECT_FALSE(std::filesystem::exists(dir_.at("t.journal")));
}

}  // namespace
}  // namespace assay::test
