// scripts/models: its table of models, and finished rows in the form of docs/results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "support/files/files.h"
#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

const std::string kSources = ASSAY_SOURCE_DIR;

Outcome models(const std::vector<std::string>& arguments) {
  return run_program(kSources + "/scripts/models", arguments);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out(1);
  for (const char c : line)
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

TEST(Models, TheTablePinsTwentyFiveFiles) {
  std::ifstream in(kSources + "/scripts/models.csv");
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "model,package,version,file,options");
  std::set<std::string> names, files;
  while (std::getline(in, line)) {
    const auto cells = cells_of(line);
    ASSERT_EQ(cells.size(), 5u) << line;
    EXPECT_TRUE(names.insert(cells[0]).second) << line;
    EXPECT_TRUE(files.insert(cells[1] + "/" + cells[3]).second) << line;
    EXPECT_THAT(cells[2], ContainsRegex("^[0-9]+(\\.[0-9]+)+$")) << line;
    EXPECT_TRUE(cells[3].ends_with(".onnx")) << line;
  }
  EXPECT_EQ(names.size(), 25u);
}

TEST(Models, UnknownModelsAreRefusedWithTheKnownOnes) {
  const ScratchDirectory dir;
  const Outcome o = models({"--folder", dir.path(), "--only", "magika,nosuch"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("models: unknown model 'nosuch'"));
  EXPECT_THAT(o.err, HasSubstr("ppocr4-detect, "));
}

TEST(Models, FinishedRowsPrintAsClaims) {
  const ScratchDirectory dir;
  std::filesystem::create_directories(dir.at("results"));
  const std::string head = R"({"stamp": "s", "row": {"package": "p", "version": "1.0", )";
  EXPECT_EQ(write_text(dir.at("results/magika.json"),
                       head + R"("model": "magika", "verdict": "right", "reason": "-",
                         "ours_ms": "2", "onnxruntime_ms": "3", "ratio": "1.50"}})"),
            Diags{});
  EXPECT_EQ(write_text(dir.at("results/khmersm.json"),
                       head + R"("model": "khmersm", "verdict": "refused", "reason": "too odd",
                         "ours_ms": "-", "onnxruntime_ms": "-", "ratio": "-"}})"),
            Diags{});
  const Outcome o = models({"--folder", dir.path(), "--claims", "B"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out,
              HasSubstr("magika (p 1.0): speed / ONNX Runtime,\"right; 1.50 (2 ms, 3 ms)\","));
  EXPECT_THAT(o.out, HasSubstr("khmersm (p 1.0): speed / ONNX Runtime,refused: too odd,-,-,"));
}

}  // namespace
}  // namespace assay::test
