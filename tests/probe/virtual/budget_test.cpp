// A chip whose kernels build slowly, in our time: the probe ends in time, with the most useful
// values.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "hwdesc/show.h"
#include "probe/probe.h"
#include "tests/probe/virtual/chip_profile.h"
#include "tests/probe/virtual/with_effects.h"

namespace assay::probe {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(Budget, IsKeptWhereKernelsBuildSlowly) {
  const testing::WithEffects chip(testing::chip_file("access-core"), "noise: 0.02\nbuild: 40 ms\n");
  ProbeOptions options;
  options.budget_s = 20;
  options.max_bytes = int64_t{1} << 20;
  const auto start = std::chrono::steady_clock::now();
  const auto result = probe(chip.device(), options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(result.ok()) << render(result.diags());
  EXPECT_LE(took.count(), 1.2 * options.budget_s);
  EXPECT_TRUE(result->warnings.empty()) << render(result->warnings);
  EXPECT_THAT(result->left_out, Contains("power")) << "the least useful";
  EXPECT_THAT(result->left_out, Not(Contains("clock")));
  EXPECT_THAT(result->left_out, Not(Contains("chase")));
  EXPECT_TRUE(result->profile.clocks.at(0).max.known());
  EXPECT_TRUE(result->profile.memory.at(0).capacity.known());
  const auto rows = hwdesc::rows(result->profile);
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const hwdesc::FieldRow& r) {
    return r.value == "unknown" && r.note == "budget";
  }));
  const auto& identity = result->profile.identity;
  EXPECT_TRUE(std::any_of(identity.begin(), identity.end(), [](const auto& e) {
    return e.first == "unfinished" && e.second.find("power: budget") != std::string::npos;
  }));
}

}  // namespace
}  // namespace assay::probe
