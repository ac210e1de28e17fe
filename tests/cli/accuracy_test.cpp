// The error table of a small folder of measurements, as text and as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files/files.h"
#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr const char* kIndex = R"yaml(schema: assay/reference/1
sources: {lab: {from: a laboratory, licence: MIT, timed: by a clock}}
tables:
  - {file: t.csv, source: lab, device: nvidia/rtx-3090, group: tiles, launch: stream, caches: warm,
     role: judge, programs: xgemm}
bars:
  - {name: order, groups: [tiles], figure: kendall, at_least: 0.9}
  - {name: choice, groups: [tiles], figure: subset regret, at_most: 1.2}
)yaml";
constexpr const char* kTable =
    "op,type,seconds,MWG,NWG,KWG,MDIMC,NDIMC,MDIMA,NDIMB,KWI,VWM,VWN,STRM,STRN,SA,SB\n"
    "matmul m=1024 n=1024 k=1024,f32,0.0004,16,16,32,8,8,8,8,2,1,1,0,0,0,0\n"
    "matmul m=1024 n=1024 k=1024,f32,0.0001,64,64,32,16,8,16,16,2,4,4,0,0,1,1\n";

TEST(AccuracyCommand, ProgramsAreShownByTheirOrder) {
  const ScratchDirectory dir;
  ASSERT_TRUE(write_text(dir.at("index.yaml"), kIndex).empty());
  ASSERT_TRUE(write_text(dir.at("t.csv"), kTable).empty());
  const Outcome text = run_assay({"accuracy", "--reference", dir.path()});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out,
              ContainsRegex("nvidia/rtx-3090 tiles +judge +2 .* 1\\.000 +1\\.000 +1\\.00 +1\\.00"));
  EXPECT_THAT(text.out, ContainsRegex("nvidia/rtx-3090 tiles: order +1\\.000 +>= 0\\.900 +yes"));
  EXPECT_THAT(text.out, ContainsRegex("nvidia/rtx-3090 tiles: choice +1\\.000 +<= 1\\.200 +yes"));
  const Outcome json = run_assay({"accuracy", "--reference", dir.path(), "--format", "json"});
  EXPECT_EQ(json.code, 0) << json.err;
  for (const char* part : {"\"group\": \"tiles\"", "\"kendall\": 1.0", "\"subset_regret\": 1.0",
                           "\"regret\": 1.0", "\"spearman\": 1.0"})
    EXPECT_THAT(json.out, HasSubstr(part));
}

TEST(AccuracyCommand, TheReportIsAPageAndTheTableIsPrintedAsWithoutIt) {
  const ScratchDirectory dir;
  ASSERT_TRUE(write_text(dir.at("index.yaml"), kIndex).empty());
  ASSERT_TRUE(write_text(dir.at("t.csv"), kTable).empty());
  const std::string file = dir.at("page.html");
  const Outcome with = run_assay({"accuracy", "--reference", dir.path(), "--report", file});
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_EQ(with.out, run_assay({"accuracy", "--reference", dir.path()}).out);
  const auto page = read_text(file);
  ASSERT_TRUE(page);
  EXPECT_THAT(*page, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(*page, HasSubstr("nvidia/rtx-3090 tiles: order"));
  const Outcome nowhere =
      run_assay({"accuracy", "--reference", dir.path(), "--report", dir.at("none/page.html")});
  EXPECT_NE(nowhere.code, 0);
  EXPECT_EQ(nowhere.out, "");
  EXPECT_THAT(nowhere.err, HasSubstr("none/page.html"));
}

TEST(AccuracyCommand, ADamagedRowIsRefusedWithItsPlace) {
  const ScratchDirectory dir;
  ASSERT_TRUE(write_text(dir.at("index.yaml"), kIndex).empty());
  ASSERT_TRUE(
      write_text(dir.at("t.csv"), std::string(kTable) +
                                      "matmul m=1024 n=1024 k=1024,f32,0.0001,64,64,32,16,8,"
                                      "16,16,2,8,4,0,0,1,1\n")
          .empty());
  const Outcome o = run_assay({"accuracy", "--reference", dir.path()});
  EXPECT_NE(o.code, 0);
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, HasSubstr("t.csv:4: error: MDIMC * VWM does not divide MWG = 64"));
}

}  // namespace
}  // namespace assay::test
