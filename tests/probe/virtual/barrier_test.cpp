// A barrier among resident groups, on simulated chips whose lanes are threads: its cost follows
// from atomic additions and barriers of a group.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "hwdesc/library.h"
#include "probe/probe.h"
#include "runtime/virtual/chip.h"
#include "runtime/virtual/defaults.h"
#include "support/diag.h"
#include "tests/probe/virtual/with_effects.h"

namespace assay::probe {
namespace {

namespace simulated = runtime::simulated;

simulated::Chip chip_of(const hwdesc::Profile& profile) {
  const auto chip = simulated::make_chip(profile, {});
  if (!chip) throw std::runtime_error(render(chip.diags()));
  return *chip;
}

// A group increments and polls. Either takes an addition's latency, or the serialised additions of
// all groups at one address. The group's own lanes have a barrier before and after. The rest is the
// loop: an addition and five issues (one for the first thread alone, two for the comparison, two
// for the branch).
double barrier_ticks(const simulated::Chip& c, double groups) {
  constexpr double kIssues = 5;
  const double own = c.group_barriers.empty() ? simulated::defaults::kBarrier
                                              : c.group_barriers.front().second * c.clock;
  const double loop = c.modes.front().ops[static_cast<size_t>(ir::ValueOp::fma)].latency +
                      kIssues / c.modes.back().issue;
  return 2 * std::max(c.atomic.latency.at(c.clock), groups * c.atomic.interval) + 2 * own + loop;
}

void expect_barriers(const std::string& profile, const hwdesc::Profile& truth) {
  const testing::WithEffects device(profile, "noise: 0.03\n");
  ProbeOptions options;
  options.budget_s = 10;
  options.only = {"clock", "fma", "waves", "units", "residency", "barrier"};
  const auto result = probe(device.device(), options);
  ASSERT_TRUE(result.ok()) << render(result.diags());
  EXPECT_TRUE(result->warnings.empty()) << render(result->warnings);
  const simulated::Chip chip = chip_of(truth);
  const auto& found = result->profile.apis.at(0).coresident_barrier;
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found.front().groups.value->v, std::max(2, chip.units)) << "one group per unit";
  const double waves = chip.groups > 0 ? std::min(chip.waves, chip.groups) : chip.waves;
  EXPECT_EQ(found.back().groups.value->v, waves * chip.units) << "as many as run at once";
  for (const hwdesc::BarrierPoint& p : found) {
    ASSERT_TRUE(p.time.known()) << p.time.note;
    const double expected = barrier_ticks(chip, p.groups.value->v) / chip.clock;
    EXPECT_NEAR(p.time.value->v / expected, 1, 0.05) << p.groups.value->v << " groups";
  }
}

class Barriers : public ::testing::TestWithParam<const char*> {};

TEST_P(Barriers, CostAdditionsAndPolls) {
  const auto profile = hwdesc::load_from_library(GetParam());
  ASSERT_TRUE(profile.ok()) << render(profile.diags());
  expect_barriers(GetParam(), *profile);
}

std::string name_of(std::string profile) {
  std::replace_if(
      profile.begin(), profile.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return profile;
}

// Chips of many units take minutes: with the slow tests.
constexpr const char* kFewUnits[] = {"apple/m1-gpu-8core", "arm/mali-g76-mp5",
                                     "qualcomm/adreno-640"};
constexpr const char* kManyUnits[] = {"amd/mi210", "nvidia/a100-sxm4-40gb", "nvidia/h100-sxm5-80gb",
                                      "nvidia/rtx-3090", "nvidia/v100-pcie-16gb"};
constexpr auto kName = [](const auto& i) { return name_of(i.param); };
INSTANTIATE_TEST_SUITE_P(FewUnits, Barriers, ::testing::ValuesIn(kFewUnits), kName);
INSTANTIATE_TEST_SUITE_P(All, Barriers, ::testing::ValuesIn(kManyUnits), kName);

}  // namespace
}  // namespace assay::probe
