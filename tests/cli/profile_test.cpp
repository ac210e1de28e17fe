// The profile commands, end to end: one chip in two spellings, the list, the schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using nlohmann::json;

TEST(ProfileCommands, TheHashIsOfTheContentNotOfItsFormat) {
  const ScratchDirectory dir;
  const std::string canonical =
      run_assay({"profile", "show", "nvidia/a100-sxm4-40gb", "--format", "yaml"}).out;
  std::ofstream(dir.at("other.yaml")) << "# a comment\n" << canonical << "\n\n";
  const Outcome library =
      run_assay({"profile", "show", "nvidia/a100-sxm4-40gb", "--format", "hash"});
  const Outcome other = run_assay({"profile", "show", dir.at("other.yaml"), "--format", "hash"});
  ASSERT_EQ(library.code, 0) << library.err;
  EXPECT_THAT(library.out, testing::MatchesRegex("[0-9a-f]+\n"));
  EXPECT_EQ(library.out, other.out);
  const Outcome changed = run_assay({"profile", "show", "nvidia/a100-sxm4-40gb", "--set",
                                     "memory.hbm.bandwidth*=2", "--format", "hash"});
  EXPECT_NE(library.out, changed.out);
}

TEST(ProfileCommands, ListsThePeakRatesOfEachChip) {
  const Outcome o = run_assay({"profile", "list", "--format", "json"});
  ASSERT_EQ(o.code, 0) << o.err;
  const json list = json::parse(o.out);
  ASSERT_GE(list.size(), 13U);
  for (const json& p : list) {
    if (p["name"] == "nvidia/a100-sxm4-40gb") {  // datasheet: 108 SMs, 19.5 TFLOPS
      EXPECT_EQ(p["units"], 108);
      EXPECT_NEAR(p["peak_f32_flops"].get<double>(), 19.5e12, 0.1e12);
    }
    EXPECT_GT(p["memory_bytes_per_s"].get<double>(), 1e9) << p;
  }
}

TEST(ProfileCommands, ForeignSpellingsAreExplained) {
  const ScratchDirectory dir;
  std::ofstream(dir.at("p.yaml")) << "schema: assay/profile/1\nname: x\nwarp_size: 32\n";
  const Outcome o = run_assay({"profile", "check", dir.at("p.yaml")});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.out, testing::HasSubstr("hint: write execution: {lanes: {modes: [{width: 32}]}}"));
}

TEST(ProfileCommands, SchemaAndReferencePage) {
  const Outcome schema = run_assay({"profile", "schema"});
  ASSERT_EQ(schema.code, 0) << schema.err;
  EXPECT_EQ(json::parse(schema.out)["properties"]["schema"]["const"], "assay/profile/1");
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/docs/profile.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_EQ(run_assay({"profile", "schema", "--format", "markdown"}).out, page.str());
}

}  // namespace
}  // namespace assay::test
