// What simulated chips execute with, found by the experiments about it alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "hwdesc/parse.h"
#include "probe/probe.h"
#include "truth.h"

namespace assay::probe {
namespace {

std::string text_of(const std::string& chip) {
  std::stringstream text;
  text << std::ifstream(std::string(ASSAY_SOURCE_DIR) + "/tests/probe/execution/chips/" + chip + ".yaml").rdbuf();
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
      : folder_(std::filesystem::temp_directory_path() / ("assay-executing-" + std::to_string(std::random_device{}()))), truth(profile_of(text)) {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "chip.yaml") << text;
    std::ofstream(folder_ / "virtual.yaml") << "schema: assay/virtual/1\nprofile: chip.yaml\nnoise: 0.03\n";
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

class Operations : public ::testing::TestWithParam<const char*> {};

TEST_P(Operations, OfEveryTypeCostWhatTheyCost) {
  const Chip chip(text_of(GetParam()));
  expect_none(testing::wrong_operations(chip.truth, chip.found({"clock", "fma", "waves", "units", "operations", "types"}, 8), 0.05));
}

INSTANTIATE_TEST_SUITE_P(Chips, Operations, ::testing::Values("waves", "vectors"), [](const auto& chip) { return std::string(chip.param); });

}  // namespace
}  // namespace assay::probe
