// How simulated chips execute, found by the experiments on it alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "hwdesc/parse.h"
#include "probe/probe.h"
#include "tests/probe/execution/truth.h"

namespace assay::probe {
namespace {

std::string text_of(const std::string& chip) {
  std::stringstream text;
  text << std::ifstream(std::string(ASSAY_SOURCE_DIR) + "/tests/probe/execution/chips/" + chip +
                        ".yaml")
              .rdbuf();
  return text.str();
}

hwdesc::Profile profile_of(const std::string& text) {
  auto profile = hwdesc::parse_profile(text, "chip.yaml", hwdesc::no_library);
  if (!profile) throw std::runtime_error(render(profile.diags()));
  return std::move(profile).value();
}

// A chip with noise, and its profile.
class Chip {
 public:
  explicit Chip(std::string text)
      : folder_(std::filesystem::temp_directory_path() /
                ("assay-executing-" + std::to_string(std::random_device{}()))),
        truth(profile_of(text)) {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "chip.yaml") << text;
    std::ofstream(folder_ / "virtual.yaml")
        << "schema: assay/virtual/1\nprofile: chip.yaml\nnoise: 0.03\n";
  }
  ~Chip() { std::filesystem::remove_all(folder_); }
  Chip(const Chip&) = delete;
  Chip& operator=(const Chip&) = delete;

  hwdesc::Profile found(std::vector<std::string> experiments, double budget_s) const {
    ProbeOptions options;
    options.budget_s = budget_s;
    options.max_bytes = int64_t{24} << 20;
    options.only = std::move(experiments);
    auto result = probe("virtual:" + (folder_ / "virtual.yaml").string(), options);
    if (!result) throw std::runtime_error(render(result.diags()));
    EXPECT_TRUE(result->warnings.empty()) << render(result->warnings);
    return std::move(result->profile);
  }

 private:
  std::filesystem::path folder_;

 public:
  const hwdesc::Profile truth;
};

void expect_none(const std::vector<std::string>& wrong) {
  std::string all;
  for (const std::string& w : wrong) all += "\n  " + w;
  EXPECT_TRUE(wrong.empty()) << all;
}

constexpr double kNear = 0.07;  // noise of 3 % in few samples, and loops take issue slots of waves

class Operations : public ::testing::TestWithParam<const char*> {};

TEST_P(Operations, OfEveryTypeCostWhatTheyCost) {
  const Chip chip(text_of(GetParam()));
  hwdesc::Profile others = chip.truth;
  std::erase_if(others.compute,
                [](const hwdesc::ComputeOp& c) { return c.op.starts_with("atomic"); });
  expect_none(testing::wrong_operations(
      others, chip.found({"clock", "fma", "waves", "units", "operations", "types"}, 8), kNear));
}

TEST_P(Operations, AtomicOnesCostWhatTheyCost) {
  const Chip chip(text_of(GetParam()));
  hwdesc::Profile only = chip.truth;
  std::erase_if(only.compute,
                [](const hwdesc::ComputeOp& c) { return !c.op.starts_with("atomic"); });
  expect_none(testing::wrong_operations(
      only, chip.found({"clock", "fma", "waves", "units", "residency", "access", "atomics"}, 6),
      kNear));
}

TEST_P(Operations, AreFetchedAtFullSpeedWithinTheInstructionCache) {
  const Chip chip(text_of(GetParam()));
  const hwdesc::Knee found = chip.found({"clock", "code"}, 3).execution.code;
  ASSERT_TRUE(found.from.known()) << found.from.note;
  const double truth = chip.truth.execution.code.from.value->v;
  EXPECT_LE(found.from.value->v, truth);
  EXPECT_GE(found.to.value->v, truth);
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("the chip is not described by " + from);
  return text.replace(at, from.size(), to);
}

const std::vector<std::string> kMeeting = {"clock", "fma",       "waves",
                                           "units", "residency", "barrier"};

// Each group increments and polls. Either takes 220 cycles, or the serialised 10 cycles of every
// group at one address. Twice 20 ns for its own lanes; and the loop, an addition and five issues.
TEST(Barriers, AmongAllCostAdditionsAndPolls) {
  const Chip chip(changed(text_of("waves"), "slots: 320", "slots: 1600"));
  const hwdesc::Profile found = chip.found(kMeeting, 5);
  const std::vector<hwdesc::BarrierPoint>& points = found.apis.at(0).coresident_barrier;
  std::vector<double> groups;
  for (const hwdesc::BarrierPoint& p : points) {
    groups.push_back(p.groups.value->v);
    ASSERT_TRUE(p.time.known()) << p.time.note;
    EXPECT_NEAR(p.time.value->v / (2 * std::max(220.0, groups.back() * 10) + 40 + 4 + 2.5) * 1e9, 1,
                0.05)
        << groups.back() << " groups";
    EXPECT_LE(p.time.low->v, p.time.value->v);
    EXPECT_GE(p.time.high->v, p.time.value->v);
  }
  EXPECT_EQ(groups, (std::vector<double>{5, 10, 20, 40, 80}));
  EXPECT_FALSE(found.apis.at(0).device_barrier.known()) << "every step of a plan is a launch";
}

// The barrier kernel needs a register more than the one that counts groups. Two of 16 groups on a
// unit are not resident, and those that poll for them give up.
TEST(Barriers, OfMoreGroupsThanAreResidentAreUnknownAndEnd) {
  const Chip chip(changed(changed(text_of("waves"), "count: 32768", "count: 5120"),
                          "granule: {regs: 8", "granule: {regs: 1"));
  const std::vector<hwdesc::BarrierPoint> points =
      chip.found(kMeeting, 5).apis.at(0).coresident_barrier;
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points[4].groups.value->v, 80);
  EXPECT_FALSE(points[4].time.known());
  EXPECT_EQ(points[4].time.note, "not all groups had come when one had looked 1024 times");
  EXPECT_TRUE(points[3].time.known()) << points[3].time.note;
}

// Once as it is, and once by another driver, which does not report registers.
class Waves : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string text() {
    const std::string text = text_of("waves"), by = "cuda: {dialect: cuda", driver = GetParam();
    const size_t at = text.find(by);
    if (at == std::string::npos) throw std::runtime_error("the chip is not described by " + by);
    return text.substr(0, at) + driver + ": {dialect: " + driver + text.substr(at + by.size());
  }
};

TEST_P(Waves, AreResidentWhereTheyFit) {
  const Chip chip(text());
  const hwdesc::Profile found =
      chip.found({"clock", "fma", "waves", "units", "residency", "registers"}, 6);
  const hwdesc::Execution &is = found.execution, &truth = chip.truth.execution;
  ASSERT_TRUE(is.resident.groups.known()) << is.resident.groups.note;
  EXPECT_EQ(is.resident.groups.value->v, truth.resident.groups.value->v);
  EXPECT_EQ(found.apis.at(0).coresident_groups, hwdesc::Fact::yes);
  const auto holds = [](const auto& found_value, const auto& true_value) {
    ASSERT_TRUE(found_value.known()) << found_value.note;
    EXPECT_LE(found_value.low ? found_value.low->v : found_value.value->v, true_value.value->v);
    EXPECT_GE(found_value.high ? found_value.high->v : found_value.value->v, true_value.value->v);
  };
  holds(is.registers.count, truth.registers.count);
  holds(is.registers.per_thread_max, truth.registers.per_thread_max);
  // A spilled value is loaded and stored, an instruction each; registers of addresses are spilled,
  // too.
  ASSERT_TRUE(is.registers.spill.known()) << is.registers.spill.note;
  EXPECT_NEAR(is.registers.spill.value->v, 2 / truth.issue.rate.value->v,
              0.15 * 2 / truth.issue.rate.value->v);
  if (is.registers.granule.regs.known())
    EXPECT_EQ(is.registers.granule.regs.value->v, truth.registers.granule.regs.value->v);
  else
    EXPECT_NE(std::string(GetParam()), "cuda") << is.registers.granule.regs.note;
}

TEST_P(Waves, DivergeAndSynchronise) {
  const Chip chip(text());
  const hwdesc::Profile found = chip.found({"clock", "fma", "waves", "units", "branches"}, 5);
  const hwdesc::Lanes& lanes = found.execution.lanes;
  EXPECT_EQ(lanes.modes.at(0).width.source, hwdesc::Origin::measured)
      << lanes.modes.at(0).width.note;
  EXPECT_NEAR(lanes.divergence.value->v, 2, 0.15);
  EXPECT_NEAR(
      found.apis.at(0).group_barrier.value->v / chip.truth.apis.at(0).group_barrier.value->v, 1,
      0.05);
  const double width = lanes.modes.at(0).width.value->v;
  std::map<double, double> by_threads;  // in ns
  for (const hwdesc::WideBarrier& b : found.apis.at(0).wide_barrier)
    by_threads[b.threads.value->v] = b.time.value->v * 1e9;
  EXPECT_NEAR(by_threads.at(256) / 40, 1, 0.05);
  EXPECT_NEAR(by_threads.at(512) / (40 + 50.0 / 3), 1, 0.05)
      << "a third of the way from 256 to 1024";
  EXPECT_NEAR(by_threads.at(1024) / 90, 1, 0.05);
  EXPECT_EQ(by_threads.begin()->first, 2 * width);
}

INSTANTIATE_TEST_SUITE_P(Drivers, Waves, ::testing::Values("cuda", "opencl"),
                         [](const auto& driver) { return std::string(driver.param); });

INSTANTIATE_TEST_SUITE_P(Chips, Operations, ::testing::Values("waves", "vectors"),
                         [](const auto& chip) { return std::string(chip.param); });

}  // namespace
}  // namespace assay::probe
