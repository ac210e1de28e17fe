// Schedules from the command line: written by hand, refused at their place, traced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kChip = "generic/x86-avx512-2core";

std::string example(const std::string& name) {
  return ASSAY_SOURCE_DIR "/examples/schedule-" + name + ".yaml";
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The example with a part of it replaced, in a file of its own.
std::string changed(const ScratchDirectory& dir, const std::string& name, const std::string& old,
                    const std::string& now) {
  std::string text = text_of(example(name));
  EXPECT_NE(text.find(old), std::string::npos) << old;
  text.replace(text.find(old), old.size(), now);
  std::ofstream(dir.at("plan.yaml")) << text;
  return dir.at("plan.yaml");
}

TEST(ScheduleCommand, ExamplesAreSimulatedAndTraced) {
  const ScratchDirectory dir;
  for (const std::string name : {"side-by-side", "rows"}) {
    const Outcome out = run_assay({"simulate", example(name), "--profile", kChip, "--explain",
                                   "--trace", dir.at(name + ".json")});
    ASSERT_EQ(out.code, 0) << out.err;
    EXPECT_THAT(out.out, HasSubstr("steps side by side: units are busy"));
    EXPECT_THAT(out.out, HasSubstr("no schedule of these programs takes less than"));
    const json trace = json::parse(text_of(dir.at(name + ".json")));
    EXPECT_GT(trace["traceEvents"].size(), 8u);
  }
  const json as_json = json::parse(
      run_assay({"simulate", example("rows"), "--profile", kChip, "--format", "json"}).out);
  EXPECT_GT(as_json["schedule"]["busy"], 0.5);
  EXPECT_LT(as_json["schedule"]["work_s"], as_json["total"]["seconds"]);
}

TEST(ScheduleCommand, APlanOfNoStepsTakesItsBarrier) {
  const ScratchDirectory dir;
  std::ofstream(dir.at("none.yaml")) << "schema: assay/plan/3\nname: none\nunits: 2\ntensors: []\n"
                                        "programs: []\nsteps: []\nschedule:\n  - barrier\n";
  const Outcome out = run_assay({"simulate", dir.at("none.yaml"), "--profile", kChip, "--explain"});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("no schedule of these programs takes less than 0 s"));
}

TEST(ScheduleCommand, FaultsNameTheStepsAtTheirLine) {
  const ScratchDirectory dir;
  const auto said = [&](const std::string& name, const std::string& old, const std::string& now) {
    const Outcome out = run_assay({"simulate", changed(dir, name, old, now), "--profile", kChip});
    EXPECT_NE(out.code, 0);
    return out.err;
  };
  EXPECT_THAT(said("rows", "  - barrier\n", ""),
              HasSubstr("steps second product on unit 0 and sums on unit 1 may run at once"));
  EXPECT_THAT(said("side-by-side", "{wait: 1, value: 1, units: [0, 1]}",
                   "{wait: 1, value: 2, units: [0, 1]}"),
              HasSubstr("unit 0 waits for ever for counter 1 to reach 2"));
  EXPECT_THAT(said("side-by-side", "{run: 1, units: [1, 2]}", "{run: 0, units: [1, 2]}"),
              HasSubstr("group 0 of step left product runs twice"));
  EXPECT_THAT(said("rows", "- {run: 3}", "- {run: 4}"), HasSubstr("plan.yaml:"));
  EXPECT_THAT(said("rows", "schedule:", "resident: 2\nschedule:"), HasSubstr("a core runs one"));
}

TEST(ScheduleCommand, ARunIsTracedBesideItsPrediction) {
  const ScratchDirectory dir;
  const Environment cache = {{"XDG_CACHE_HOME", dir.at("cache")}};
  const std::string bundle = dir.at("bundle"), trace = dir.at("trace.json");
  ASSERT_EQ(run_assay({"compile", "--op", "matmul m=64 n=64 k=64", "--profile", kChip, "--schedule",
                       "always", "-o", bundle},
                      cache)
                .code,
            0);
  const Outcome ran =
      run_assay({"run", bundle, "--device", "cpu:0", "--repeat", "3", "--trace", trace}, cache);
  ASSERT_EQ(ran.code, 0) << ran.err;
  int predicted = 0, measured = 0;
  const json written = json::parse(text_of(trace));
  for (const json& e : written["traceEvents"])
    if (e["ph"] == "X") ++(e["pid"] == 1 ? predicted : measured);
  EXPECT_GT(predicted, 0);
  EXPECT_GT(measured, 0);
}

}  // namespace
}  // namespace assay::test
