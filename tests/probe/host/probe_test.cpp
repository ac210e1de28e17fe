// A short real probe: relations that hold on any machine, not figures.
#include "probe/probe.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "hwdesc/check.h"
#include "probe/inference/knee.h"
#include "probe/inference/known.h"
#include "probe/inference/stats.h"
#include "probe/journal.h"

namespace assay::probe {
namespace {

std::string fresh_directory(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("assay_probe_" + name + "." + std::to_string(::getpid()));
  std::filesystem::remove_all(path);
  return path.string();
}

ProbeOptions short_probe(const std::string& directory) {
  ProbeOptions o;
  o.budget_s = 40;  // as by default: each experiment in it takes a round at least
  o.max_bytes = int64_t{64} << 20;
  o.observations = directory;
  return o;
}

void expect_plausible(const hwdesc::Profile& p) {
  EXPECT_FALSE(has_error(hwdesc::check(p))) << render(hwdesc::check(p));
  ASSERT_GE(p.memory.size(), 2u);
  for (size_t i = 0; i + 1 < p.memory.size(); ++i) {
    ASSERT_TRUE(p.memory[i].capacity.known());
    if (i > 0) {
      EXPECT_LT(p.memory[i - 1].capacity.value->v, p.memory[i].capacity.value->v);
    }
    if (p.memory[i].knee.from.known()) {
      EXPECT_LE(p.memory[i].knee.from.value->v, p.memory[i].knee.to.value->v);
    }
  }
  const double hz = p.clocks.at(0).max.value->v;
  EXPECT_GT(hz, 5e8);
  EXPECT_LT(hz, 1e10);
  double before = 0;
  for (const hwdesc::MemoryLevel& m : p.memory) {
    if (!m.latency.known()) continue;
    const double s = m.latency.value->v / (m.latency.value->clock.empty() ? 1 : hz);
    EXPECT_GT(s, before) << m.name;
    before = s;
  }
  ASSERT_TRUE(p.pipes.at(0).rate.known());
  EXPECT_GT(p.pipes[0].rate.value->v, 0.5);
  EXPECT_GE(p.execution.lanes.modes.size(), 1u);
  for (const hwdesc::ComputeOp& c : p.compute)
    if (c.latency.known()) {
      EXPECT_GE(c.latency.value->v, 0.9) << c.op;
    }
}

// Too short for all: in time, and what is needed most is there.
TEST(Probe, KeepsItsBudget) {
  ProbeOptions options = short_probe("");
  options.budget_s = 10;
  const auto start = std::chrono::steady_clock::now();
  const auto result = probe("cpu:0", options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(result.ok()) << render(result.diags());
  EXPECT_LE(took.count(), 1.2 * options.budget_s);
  EXPECT_FALSE(result->left_out.empty());
  EXPECT_TRUE(result->profile.clocks.at(0).max.known());
}

// A killed probe is resumed.
TEST(Probe, ResumesAfterAKill) {
  const std::string directory = fresh_directory("killed");
  const pid_t child = ::fork();
  if (child == 0) {
    (void)probe("cpu:0", short_probe(directory));
    ::_exit(0);
  }
  for (int i = 0; i < 1200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto so_far = read_journal(directory);
    if (so_far.ok() && so_far->finished("clock")) break;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto before = read_journal(directory);
  ASSERT_TRUE(before.ok() && before->finished("clock"));
  ProbeOptions options = short_probe(directory);
  options.resume = true;
  options.budget_s = 20;
  const auto result = probe("cpu:0", options);
  ASSERT_TRUE(result.ok()) << render(result.diags());
  const auto count = [](const Observations& o) { return select(o, "clock", "sentinel").size(); };
  EXPECT_EQ(count(result->observations), count(*before));  // not measured again
  EXPECT_TRUE(result->observations.finished("launch"));
  std::filesystem::remove_all(directory);
}

// Behind tests that build most of its kernels: the budget is in wall time, and slow machines would
// use it up building.
TEST(Probe, AShortOneIsPlausible) {
  const std::string directory = fresh_directory("short");
  const auto result = probe("cpu:0", short_probe(directory));
  ASSERT_TRUE(result.ok()) << render(result.diags());
  expect_plausible(result->profile);
  EXPECT_TRUE(result->observations.finished("cyclic_scan"));
  for (const Ending& e : result->observations.endings)
    EXPECT_NE(e.outcome, Outcome::crashed) << e.experiment << ": " << e.reason;
  EXPECT_EQ(result->observations.fact(kVectorLanes),
            std::to_string(int(result->profile.execution.lanes.modes.back().width.value->v)));
  EXPECT_EQ(result->observations.times_done("mixes"), 2) << "rates are taken at two times";
  EXPECT_EQ(result->observations.times_done("sharing"), 1);
  EXPECT_GT(values_of(select(result->observations, "cyclic_scan", "read"), "bytes").size(), 8u);
  const auto again = infer_from(directory);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->profile, result->profile);
  std::filesystem::remove_all(directory);
}

// Lanes that are threads. Mesa's driver for processors ends loops after 65535 iterations without an
// error.
TEST(Probe, VulkanOnAProcessor) {
  const runtime::Found found = runtime::devices();
  const auto vulkan =
      std::find_if(found.devices.begin(), found.devices.end(), [](const runtime::DeviceInfo& d) {
        return d.api == "vulkan" && d.name.find("llvmpipe") != std::string::npos;
      });
  if (vulkan == found.devices.end())
    GTEST_SKIP() << "no lavapipe here (Debian: mesa-vulkan-drivers)";
  const std::string directory = fresh_directory("vulkan");
  ProbeOptions options = short_probe(directory);
  options.max_bytes = int64_t{1} << 30;  // larger than the buffers that kernels may have
  options.only = {"checks", "clock", "line", "chase", "fma",
                  "units",  "waves", "far",  "launch"};  // its compiler is slow
  const auto result = probe(vulkan->id, options);
  ASSERT_TRUE(result.ok()) << render(result.diags());
  const hwdesc::Profile& p = result->profile;
  for (const Diag& d : hwdesc::check(p))
    EXPECT_TRUE(d.severity != Severity::error ||
                d.message.find("needed to predict") != std::string::npos)
        << d.message;
  EXPECT_EQ(p.execution.lanes.style, hwdesc::LaneStyle::simt);
  ASSERT_EQ(p.execution.lanes.modes.size(), 1u);
  EXPECT_EQ(p.execution.lanes.modes[0].width.value->v, vulkan->widths.at(0));
  EXPECT_FALSE(p.clocks.at(0).max.known()) << "its clock is unknown";
  ASSERT_EQ(p.apis.size(), 1u);
  ASSERT_TRUE(p.apis[0].limits.iterations.known());
  EXPECT_EQ(p.apis[0].limits.iterations.value->v, 65535);
  EXPECT_TRUE(p.apis[0].launch.stream.known());
  EXPECT_TRUE(p.memory.back().bandwidth.read.known());
  ASSERT_TRUE(p.apis[0].limits.allocation.known());
  const double allowed = p.apis[0].limits.allocation.value->v;
  for (const Observation& o : result->observations.points)
    if (o.experiment == "chase" || o.experiment == "far") {
      EXPECT_LE(o.value_at("bytes") * o.value_at("units", 1), allowed)
          << o.experiment << " " << o.what;
    }
  // Beyond the largest buffer a chase would stay in a few lines, so far memory must not be faster.
  const std::vector<CurvePoint> curve =
      curve_of(select(result->observations, "chase", "chase"), Estimator::latency);
  EXPECT_GE(curve.back().bytes, allowed / 2);
  EXPECT_GT(curve.back().seconds, 2 * curve.front().seconds);
  // A loop that ended early is an error of its experiment. (The driver itself has been seen to
  // abort in others.)
  for (const char* name : {"checks", "clock", "chase", "fma", "far", "launch"})
    EXPECT_TRUE(result->observations.finished(name)) << name;
  std::filesystem::remove_all(directory);
}

TEST(Probe, ResumingNothingIsAnError) {
  ProbeOptions options = short_probe(fresh_directory("none"));
  options.resume = true;
  EXPECT_FALSE(probe("cpu:0", options).ok());
}

TEST(Probe, AnUnknownExperimentIsAnError) {
  ProbeOptions options = short_probe("");
  options.only = {"chaise"};
  const auto result = probe("cpu:0", options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.diags()[0].hint, "did you mean 'chase'?");
}

}  // namespace
}  // namespace assay::probe
