// `assay probe` and uses of its results, from recorded observations, without a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/assay_process.h"
#include "tests/cli/made_probe.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

struct Probed {
  ScratchDirectory dir;
  std::string at(const std::string& name) const { return dir.at(name); }
  void probe(const std::string& name, const std::string& api, double slowdown) const {
    record(dir.at(name + "/observations"), api, slowdown);
    const Outcome o = run_assay({"probe", "--from", dir.at(name)});
    EXPECT_EQ(o.code, 0) << o.err;
  }
};

std::string read(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

TEST(ProbeCommand, FromADirectoryWritesProfileAndReportIntoIt) {
  const Probed p;
  p.probe("chip", "cpp", 1);
  EXPECT_THAT(read(p.at("chip/profile.yaml")), HasSubstr("name: made-chip"));
  const std::string report = read(p.at("chip/report.html"));
  EXPECT_THAT(report, HasSubstr("<h1>made chip</h1>"));
  EXPECT_TRUE(report.ends_with("</html>\n"));
  EXPECT_EQ(run_assay({"profile", "check", p.at("chip")}).code, 0)
      << "the directory stands for its profile";
  fs::remove(p.at("chip/report.html"));
  EXPECT_EQ(run_assay({"probe", "--from", p.at("chip/observations")}).code, 0);
  EXPECT_EQ(read(p.at("chip/report.html")), report)
      << "the same from its observations, byte for byte";
}

TEST(ProbeCommand, AFileIsAProfileAlone) {
  const Probed p;
  record(p.at("obs"), "cpp", 1);
  const Outcome o =
      run_assay({"probe", "--from", p.at("obs"), "-o", p.at("alone.yaml"), "--format", "json"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(json::parse(o.out)["file"], p.at("alone.yaml"));
  EXPECT_EQ(json::parse(o.out)["report"], "");
  EXPECT_FALSE(fs::exists(p.at("report.html")));
  EXPECT_EQ(run_assay({"probe", "--from", p.at("obs")}).code, 2)
      << "the place of the profile is missing";
}

TEST(ProbeCommand, ANewDirectoryHoldsItsObservationsToo) {
  const Probed p;
  record(p.at("obs"), "cpp", 1);
  const Outcome o = run_assay({"probe", "--from", p.at("obs"), "-o", p.at("new")});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(read(p.at("new/observations/journal.jsonl")), read(p.at("obs/journal.jsonl")));
}

TEST(ProbeCommand, BudgetsHaveNames) {
  const Probed p;
  const auto asked = [&](const char* option, const char* time) {
    return run_assay({"probe", "--device", "cpu:9", option, time, "-o", p.at("x.yaml")});
  };
  for (const char* budget : {"60s", "3min", "full"})
    EXPECT_EQ(asked("--budget", budget).code, 3) << budget << ": what is missing is the device";
  EXPECT_EQ(asked("--budget", "fill").code, 2);
  EXPECT_THAT(asked("--budget", "fill").err, HasSubstr("such as 40s, 3min or full"));
  EXPECT_EQ(asked("--patience", "full").code, 2);
  EXPECT_THAT(asked("--patience", "full").err, HasSubstr("such as 40s or 3min\n"));
}

TEST(ProbeCommand, FromObservationsRefusesOptionsOfADevice) {
  const Probed p;
  record(p.at("obs"), "cpp", 1);
  for (const auto& [option, value] :
       {std::pair{"--budget", "60s"}, {"--only", "clock"}, {"--device", "cpu:0"}}) {
    const Outcome o =
        run_assay({"probe", "--from", p.at("obs"), option, value, "-o", p.at("x.yaml")});
    EXPECT_EQ(o.code, 2) << option;
    EXPECT_THAT(o.err, HasSubstr(std::string(option) + " excludes --from"));
  }
}

TEST(ProbeCommand, AnAbsentDeviceIsNamedWithThePresentOnes) {
  const Probed p;
  const Outcome o = run_assay({"probe", "--device", "cpu:9", "-o", p.at("x.yaml")});
  EXPECT_EQ(o.code, 3);
  EXPECT_TRUE(o.err.starts_with("error: there is no device 'cpu:9'; there are: cpu:0")) << o.err;
  EXPECT_THAT(o.err, HasSubstr("\nhint: did you mean 'cpu:0'?\n"));
  std::ofstream(p.at("broken.yaml"))
      << "schema: assay/profile/1\nname: broken\ncolour: red\nshape: round\n";
  const Outcome broken =
      run_assay({"probe", "--device", "virtual:" + p.at("broken.yaml"), "-o", p.at("x.yaml")});
  EXPECT_EQ(broken.code, 2) << "the file is wrong, not the device";
  EXPECT_THAT(broken.err, HasSubstr("broken.yaml:3:1: error: unknown key 'colour'"));
  EXPECT_THAT(broken.err, HasSubstr("broken.yaml:4:1: error: unknown key 'shape'"));
  const Outcome none = run_assay({"probe", "--device", "virtual:nope", "-o", p.at("x.yaml")});
  EXPECT_TRUE(none.err.starts_with(
      "error: no profile 'nope' in the library\nhint: one of: amd/epyc-9654, amd/mi100, "))
      << none.err;
}

TEST(ProbeCommand, ExperimentsThatNeedOthersSaySo) {
  const Probed p;
  const Outcome o = run_assay({"probe", "--device", "virtual:qualcomm/adreno-640", "--only",
                               "latency", "--budget", "1s", "-o", p.at("x")});
  EXPECT_EQ(o.code, 3);
  EXPECT_THAT(o.err, HasSubstr("these experiments measured nothing"));
  EXPECT_THAT(o.err, HasSubstr("hint: --only with compute, memory or control"));
}

TEST(ProbeCommand, ResumingNeedsAJournal) {
  const Probed p;
  EXPECT_EQ(run_assay({"probe", "--resume", "-o", p.at("x.yaml")}).code, 2);
  const Outcome o = run_assay({"probe", "--from", p.at("nowhere"), "-o", p.at("x")});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("journal.jsonl"));
}

TEST(ProbeCommand, ResumesAfterCtrlC) {
  const ScratchDirectory dir;
  const std::string out = dir.at("cpu");
  const Outcome stopped =
      run_assay_and_signal({"probe", "--device", "cpu:0", "--budget", "60s", "-o", out}, SIGINT, 2);
  EXPECT_EQ(stopped.code, 130);
  EXPECT_THAT(stopped.err, HasSubstr("continue with --resume"));
  const auto lines = [&] {
    const std::string text = read(out + "/observations/journal.jsonl");
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto before = lines();
  EXPECT_GT(before, 0);
  const Outcome o = run_assay({"probe", "--device", "cpu:0", "--budget", "1s", "--only", "clock",
                               "--only", "launch", "--resume", "-o", out});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_GT(lines(), before);
  EXPECT_TRUE(fs::exists(out + "/profile.yaml"));
  EXPECT_THAT(read(out + "/report.html"), HasSubstr("Cost of launching"));
}

TEST(ProfileDiff, TwoProbesOfADeviceAgreeWithinTheirIntervals) {
  const Probed p;
  p.probe("a", "cpp", 1);
  p.probe("b", "cpp", 1.02);
  p.probe("c", "cpp", 2.5);  // beyond what neighbours explain: less than one vector a tick
  const Outcome near = run_assay({"profile", "diff", p.at("a"), p.at("b")});
  EXPECT_EQ(near.code, 0) << near.out;
  EXPECT_THAT(near.out, HasSubstr("pipes.fma.rate: "));
  EXPECT_THAT(near.out, HasSubstr("(within)"));
  EXPECT_THAT(near.out, HasSubstr("0 beyond their intervals"));
  const Outcome away = run_assay({"profile", "diff", p.at("a"), p.at("c"), "--format", "json"});
  EXPECT_EQ(away.code, 1);
  bool found = false;
  for (const json& d : json::parse(away.out)) {
    if (d["path"] != "pipes.fma.rate") continue;
    EXPECT_EQ(d["verdict"], "beyond");
    EXPECT_THAT(d["left_interval"].get<std::string>(), HasSubstr(" .. "));
    found = true;
  }
  EXPECT_TRUE(found) << away.out;
}

TEST(ProfileMerge, JoinsTheApisOfAChip) {
  const Probed p;
  p.probe("cpu", "cpp", 1);
  p.probe("cl", "opencl", 1);
  const Outcome o =
      run_assay({"profile", "merge", p.at("cpu"), p.at("cl"), "-o", p.at("both.yaml")});
  ASSERT_EQ(o.code, 0) << o.err;
  const Outcome check = run_assay({"profile", "check", p.at("both.yaml")});
  EXPECT_EQ(check.code, 0) << check.out;
  const std::string both = run_assay({"profile", "show", p.at("both.yaml")}).out;
  EXPECT_THAT(both, HasSubstr("apis.cpp.launch.eager"));
  EXPECT_THAT(both, HasSubstr("apis.opencl.launch.eager"));
  EXPECT_EQ(run_assay({"profile", "merge", p.at("cpu"), p.at("cl")}).out, read(p.at("both.yaml")));
}

TEST(ProfileMerge, NamesDifferentStructureAndWritesNothing) {
  const Probed p;
  p.probe("cpu", "cpp", 1);
  const std::string two = p.at("cpu"), other = p.at("other.yaml"), out = p.at("both.yaml");
  std::ofstream(other) << run_assay({"profile", "show", two, "--set", "topology.unit.count=8",
                                     "--format", "yaml"})
                              .out;
  const Outcome o = run_assay({"profile", "merge", two, other, "-o", out});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err,
              HasSubstr("topology.unit.count: the first says 2 (driver), the second 8 (derived)"));
  EXPECT_FALSE(fs::exists(out));
  const Outcome decided =
      run_assay({"profile", "merge", two, other, "--prefer", "second", "-o", out});
  ASSERT_EQ(decided.code, 0) << decided.err;
  EXPECT_THAT(decided.out, HasSubstr("where both disagree (1), " + other + " stands"));
  for (const json& row : json::parse(run_assay({"profile", "show", out, "--format", "json"}).out))
    if (row["path"] == "topology.unit.count") {
      EXPECT_EQ(row["value"], 8);
    }
  EXPECT_EQ(run_assay({"profile", "merge", two, other, "--prefer", "third"}).code, 2);
}

}  // namespace
}  // namespace assay::test
