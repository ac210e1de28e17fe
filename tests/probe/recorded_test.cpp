// Curves that others recorded on real devices (tests/data/curves), against vendors' figures and
// drivers' sources. A knee is right where the capacity is in its ramp.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "probe/inference/infer.h"
#include "probe/inference/knee.h"
#include "probe/journal.h"
#include "support/diag.h"

namespace assay::probe {
namespace {

constexpr double kKiB = 1024, kMiB = 1024 * 1024;

std::vector<CurvePoint> recorded(const std::string& name) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/data/curves/" + name + ".csv");
  std::vector<CurvePoint> out;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const size_t comma = line.find(',');
    out.push_back({std::stod(line.substr(0, comma)), std::stod(line.substr(comma + 1))});
  }
  return out;
}

std::string text(const Levels& l) {
  std::string out;
  for (const Plateau& p : l.plateaus)
    out += " plateau " + std::to_string(p.first) + " .. " + std::to_string(p.last) + ": " +
           std::to_string(p.seconds * 1e9) + " ns;";
  for (const KneePoint& k : l.knees)
    out += " knee " + std::to_string(k.from) + " " + std::to_string(k.capacity) + " " +
           std::to_string(k.to) + ";";
  return out;
}

struct Found {
  const char* curve;
  std::vector<double> capacities;  // bytes, near to far
  std::vector<double> plateaus;    // ns
};

void PrintTo(const Found& k, std::ostream* to) { *to << k.curve; }

class Recorded : public testing::TestWithParam<Found> {};

TEST_P(Recorded, ShowsTheLevelsOfTheDevice) {
  const Found& k = GetParam();
  const std::vector<CurvePoint> curve = recorded(k.curve);
  ASSERT_GT(curve.size(), 50u);
  const Levels levels = find_levels(curve);
  ASSERT_EQ(levels.knees.size(), k.capacities.size()) << text(levels);
  for (size_t i = 0; i < k.capacities.size(); ++i) {
    EXPECT_LE(levels.knees[i].from, k.capacities[i] * 1.02) << i << text(levels);
    EXPECT_GE(levels.knees[i].to, k.capacities[i] * 0.98) << i << text(levels);
  }
  for (size_t i = 0; i < k.plateaus.size(); ++i)
    EXPECT_NEAR(levels.plateaus[i].seconds * 1e9 / k.plateaus[i], 1, 0.05) << i << text(levels);
}

INSTANTIATE_TEST_SUITE_P(
    Devices, Recorded,
    testing::Values(Found{"adreno640_image", {1 * kKiB, 128 * kKiB}, {130.1, 160, 198.6}},
                    Found{"v100", {128 * kKiB, 6 * kMiB}, {30 / 1.38, 215 / 1.38}},
                    Found{"a100_40", {192 * kKiB, 20 * kMiB}, {36 / 1.41, 213 / 1.41}},
                    Found{"mi210", {16 * kKiB, 8 * kMiB}, {125 / 1.7, 243 / 1.7}}),
    [](const auto& device) { return std::string(device.param.curve); });

// The sweep ends on the ramp after 128 KiB: one level, and nothing about what is behind it.
TEST(RecordedRamp, IsNoLevelOfItsOwn) {
  const Levels levels = find_levels(recorded("adreno640_buffer"));
  ASSERT_EQ(levels.plateaus.size(), 1u) << text(levels);
  EXPECT_NEAR(levels.plateaus[0].last / (128 * kKiB), 1, 0.02);
  EXPECT_NEAR(levels.plateaus[0].seconds * 1e9 / 112.9, 1, 0.02);
}

TEST(RecordedLine, IsWhereTheSecondLoadBeginsToCost) {
  std::vector<double> times;
  const std::vector<CurvePoint> curve = recorded("adreno640_line");
  for (const CurvePoint& p : curve) times.push_back(p.seconds);
  const auto step = find_step(times, 1.15);
  ASSERT_TRUE(step);
  EXPECT_EQ(curve[*step].bytes, 64);
}

// The kept probe of an NVIDIA H200 (hw_profiles/nvidia/h200), against NVIDIA's own figures:
// Hopper's tuning guide, the programming guide's table of throughputs, the H200's data sheet.
TEST(RecordedProbe, OfAnH200AgreesWithItsDataSheet) {
  const auto all =
      read_journal(std::string(ASSAY_SOURCE_DIR) + "/hw_profiles/nvidia/h200/observations");
  ASSERT_TRUE(all.ok()) << render(all.diags());
  const auto p = infer(*all);
  ASSERT_TRUE(p.ok()) << render(p.diags());
  EXPECT_EQ(p->topology.back().count.value->v, 132);
  EXPECT_EQ(p->topology.back().count.source, hwdesc::Origin::measured);
  EXPECT_EQ(p->execution.resident.groups.value->v, 32);
  EXPECT_LE(p->execution.registers.count.low->v, 65536);
  EXPECT_GE(p->execution.registers.count.high->v, 65536);
  EXPECT_EQ(p->execution.registers.per_thread_max.value->v, 255);
  EXPECT_NEAR(p->execution.issue.rate.value->v, 4, 0.05 * 4) << "of four partitions";
  const auto pipe = [&](const std::string& name) {
    const auto found = std::find_if(p->pipes.begin(), p->pipes.end(),
                                    [&](const hwdesc::Pipe& x) { return x.name == name; });
    return found == p->pipes.end() || !found->rate.known() ? 0 : found->rate.value->v;
  };
  EXPECT_NEAR(pipe("fma"), 128, 0.05 * 128);
  EXPECT_NEAR(pipe("f64"), 64, 0.06 * 64);
  EXPECT_GT(pipe("load"), 0.85 * 32);
  EXPECT_GT(pipe("store"), 0.85 * 32);
  const auto fma =
      std::find_if(p->compute.begin(), p->compute.end(),
                   [](const hwdesc::ComputeOp& c) { return c.op == "fma" && c.dtype == "f32"; });
  ASSERT_NE(fma, p->compute.end());
  EXPECT_NEAR(fma->latency.value->v, 4, 0.05 * 4);
  const auto level = [&](const std::string& name) {
    const auto found = std::find_if(p->memory.begin(), p->memory.end(),
                                    [&](const hwdesc::MemoryLevel& l) { return l.name == name; });
    return found == p->memory.end() ? hwdesc::MemoryLevel{} : *found;
  };
  EXPECT_EQ(level("local").capacity.value->v, 228 * kKiB);
  EXPECT_EQ(p->apis.at(0).limits.group_memory.value->v, 227 * kKiB);
  EXPECT_LE(level("l1").capacity.low->v, 224 * kKiB) << "256 KiB, less one for each of 32 groups";
  EXPECT_GE(level("l1").capacity.high->v, 224 * kKiB);
  EXPECT_EQ(level("l1").line.value->v, 128);
  EXPECT_EQ(level("l1").transaction.value->v, 32);
  EXPECT_EQ(level("l2").per, "device");
  EXPECT_FALSE(level("l2").outstanding.lines.known())
      << "one group's 25 could not read as fast as it is read";
  EXPECT_LE(level("l2").capacity.low->v, 30 * kMiB)
      << "60 MB in two halves, each with its own copy of what its units read";
  EXPECT_GE(level("l2").capacity.high->v, 30 * kMiB);
  EXPECT_NEAR(level("dram").bandwidth.read.value->v, 4.8e12, 0.15 * 4.8e12)
      << "nominal: reached by nine tenths";
  EXPECT_EQ(p->apis.at(0).unrolled.value->v, 16);
}

}  // namespace
}  // namespace assay::probe
