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

// The datasheet's: 192 KiB, 1410 MHz, 64 lane-slots of multiply-adds a tick in four partitions.
TEST(ProfileCommands, ShowsNumbersWithUnits) {
  const Outcome o = run_assay({"profile", "show", "nvidia/a100-sxm4-40gb", "--format", "json"});
  ASSERT_EQ(o.code, 0) << o.err;
  std::map<std::string, json> rows;
  for (const json& row : json::parse(o.out)) rows[row["path"]] = row;
  const auto expect = [&](const char* path, double value, const char* unit) {
    ASSERT_TRUE(rows.contains(path)) << path;
    EXPECT_EQ(rows[path]["value"], value) << path;
    EXPECT_EQ(rows[path]["unit"], unit) << path;
    EXPECT_TRUE(rows[path].contains("source")) << path;
  };
  expect("memory.l1.capacity", 192 * 1024, "B");
  expect("clocks.core.max", 1410e6, "Hz");
  expect("pipes.fma.rate", 16, "/cycle@core");
  expect("memory.shared.bandwidth.read", 128, "B/cycle@core");
  expect("memory.hbm.bandwidth.read", 1490e9, "B/s");
  expect("memory.hbm.latency", 405e-9, "s");
  expect("memory.l1.latency", 36, "cycles@core");
  expect("topology.half.count", 2, "1");
  EXPECT_EQ(rows["memory.l1.capacity"]["text"], "192 KiB");
  EXPECT_EQ(rows["memory.l1.per"]["value"], "unit");
  EXPECT_FALSE(rows["memory.l1.per"].contains("unit"));
  EXPECT_EQ(rows["memory.hbm.bandwidth.per_unit"]["value"], nullptr) << "unknown";
  const Outcome measured = run_assay({"profile", "show", "nvidia/h200", "--format", "json"});
  for (const json& row : json::parse(measured.out))
    if (row["path"] == "execution.issue.rate") {
      EXPECT_EQ(row["interval"], (json{3.644, 4.11}));
    }
}

// Both say the same of a profile that counts ticks of no known clock, and of one that counts none.
TEST(ProfileCommands, ChecksAsCompilePredicts) {
  const ScratchDirectory dir;
  const auto outcomes = [&](const std::string& rates) {
    std::ofstream(dir.at("p.yaml"))
        << "schema: assay/profile/1\nname: p\ntopology: [{name: unit, count: 2}]\n"
           "execution: {lanes: {style: simd, modes: [{name: one, width: 1}]}}\n"
           "pipes: [{name: fma, per: unit, rate: " +
               rates + "}]\n" +
               "memory: [{name: dram, per: device, managed: explicit, bandwidth: {read: 9 GB/s}}]\n"
               "clocks: {core: unknown}\n"
               "apis: {cpp: {dialect: cpp}}\n";
    return std::pair(run_assay({"profile", "check", dir.at("p.yaml")}),
                     run_assay({"compile", "--op", "relu n=64", "--profile", dir.at("p.yaml"),
                                "--no-build", "-o", dir.at("b")}));
  };
  const auto [seconds, predicted] = outcomes("4 G/s");
  EXPECT_EQ(seconds.code, 0) << seconds.out;
  EXPECT_THAT(seconds.out, testing::HasSubstr("warning: clocks.core: unknown"));
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  const auto [ticks, refused] = outcomes("4 /cycle@core");
  EXPECT_EQ(ticks.code, 1) << ticks.out;
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(ticks.out, testing::HasSubstr("counts ticks of `core`"));
  EXPECT_THAT(refused.err, testing::HasSubstr("counts ticks of `core`"));
}

TEST(ProfileCommands, ForeignSpellingsAreExplained) {
  const ScratchDirectory dir;
  std::ofstream(dir.at("p.yaml")) << "schema: assay/profile/1\nname: x\nwarp_size: 32\n";
  const Outcome o = run_assay({"profile", "check", dir.at("p.yaml")});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.out, testing::HasSubstr("hint: write execution: {lanes: {modes: [{width: 32}]}}"));
}

TEST(ProfileCommands, CheckNotesWhatAnExtendedProfileProbablyShouldNotInherit) {
  const ScratchDirectory dir;
  std::ofstream(dir.at("fast.yaml")) << "schema: assay/profile/1\nname: fast\n"
                                        "extends: nvidia/a100-sxm4-40gb\n"
                                        "clocks: {core: {max: 1800 MHz}}\n";
  const Outcome o = run_assay({"profile", "check", dir.at("fast.yaml")});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out,
              testing::HasSubstr("note: memory.l2.bandwidth.read: 2.7 TB/s is inherited from "
                                 "'nvidia-a100-sxm4-40gb', where clocks.core.max is 1410 "
                                 "MHz, not 1.8 GHz"));
  EXPECT_THAT(o.out, testing::Not(testing::HasSubstr("memory.l1.latency"))) << "in ticks";
  std::ofstream(dir.at("same.yaml"))
      << "schema: assay/profile/1\nname: same\nextends: nvidia/a100-sxm4-40gb\n";
  EXPECT_THAT(run_assay({"profile", "check", dir.at("same.yaml")}).out,
              testing::EndsWith("nothing is wrong\n"));
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
