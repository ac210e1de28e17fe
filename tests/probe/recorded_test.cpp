// Curves that others recorded on real devices (tests/data/curves), against what is known of those: vendors' figures and
// drivers' sources. A knee is told right where the capacity lies in its ramp.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "probe/knee.h"

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
  for (const Plateau& p : l.plateaus) out += " plateau " + std::to_string(p.first) + " .. " + std::to_string(p.last) + ": " + std::to_string(p.seconds * 1e9) + " ns;";
  for (const KneePoint& k : l.knees) out += " knee " + std::to_string(k.from) + " " + std::to_string(k.capacity) + " " + std::to_string(k.to) + ";";
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
  for (size_t i = 0; i < k.plateaus.size(); ++i) EXPECT_NEAR(levels.plateaus[i].seconds * 1e9 / k.plateaus[i], 1, 0.05) << i << text(levels);
}

INSTANTIATE_TEST_SUITE_P(Devices, Recorded,
                         testing::Values(Found{"adreno640_image", {1 * kKiB, 128 * kKiB}, {130.1, 160, 198.6}},
                                         Found{"v100", {128 * kKiB, 6 * kMiB}, {30 / 1.38, 215 / 1.38}},
                                         Found{"a100_40", {192 * kKiB, 20 * kMiB}, {36 / 1.41, 213 / 1.41}},
                                         Found{"mi210", {16 * kKiB, 8 * kMiB}, {125 / 1.7, 243 / 1.7}}),
                         [](const auto& device) { return std::string(device.param.curve); });

// The sweep ends on the ramp behind 128 KiB: one level, and no word on what lies behind it.
TEST(RecordedRamp, IsNoLevelOfItsOwn) {
  const Levels levels = find_levels(recorded("adreno640_buffer"));
  ASSERT_EQ(levels.plateaus.size(), 1u) << text(levels);
  EXPECT_NEAR(levels.plateaus[0].last / (128 * kKiB), 1, 0.02);
  EXPECT_NEAR(levels.plateaus[0].seconds * 1e9 / 112.9, 1, 0.02);
}

TEST(RecordedLine, IsWhereTheSecondTouchBeginsToCost) {
  std::vector<double> times;
  const std::vector<CurvePoint> curve = recorded("adreno640_line");
  for (const CurvePoint& p : curve) times.push_back(p.seconds);
  const auto step = find_step(times, 1.15);
  ASSERT_TRUE(step);
  EXPECT_EQ(curve[*step].bytes, 64);
}

}  // namespace
}  // namespace assay::probe
