// Kernels made of several, for chips that are not present: those of compiled schedules, and merged
// ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "compiler/compile.h"
#include "lower/lower.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/compiler/scheduled_graphs.h"
#include "tests/runtime/cuda/disassembled.h"
#include "toolkit/profiles.h"

namespace assay::runtime::cuda {
namespace {

constexpr int kUnitRegisters = 65536;

class NvrtcQueues : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* named = std::getenv("ASSAY_NVRTC_LIBRARY");
    if (named == nullptr || !std::filesystem::exists(named)) GTEST_SKIP() << "no NVRTC here";
    const auto loaded = Compiler::load();
    ASSERT_TRUE(loaded.ok()) << render(loaded.diags());
    compiler_ = *loaded;
    auto parsed = codegen::parse_dialect(codegen::dialect_text("cuda"), "cuda.yaml");
    ASSERT_TRUE(parsed.ok()) << render(parsed.diags());
    dialect_ = std::move(*parsed);
  }

  std::string printed(const std::vector<ir::Kernel>& kernels, int resident) {
    const auto text = resident > 0
                          ? codegen::render_queues(kernels, dialect_, "run_queues", 32, resident)
                          : codegen::render(kernels, dialect_, 32);
    EXPECT_TRUE(text.ok()) << render(text.diags());
    return text.ok() ? *text : "";
  }

  // The kernels of a drawn graph's plan.
  static std::vector<ir::Kernel> lowered(const ir::Plan& plan, const hwdesc::Target& target) {
    std::vector<ir::Kernel> kernels;
    for (const ir::Program& p : plan.programs) {
      const auto kernel = lower::lower(p, target);
      EXPECT_TRUE(kernel.ok()) << render(kernel.diags());
      if (!kernel.ok()) continue;
      kernels.push_back(*kernel);
      kernels.back().name = fmt::format("k{}", kernels.size());
    }
    return kernels;
  }

  Compiled compiled(const std::string& text, int architecture) {
    auto made = compiler_->compile(text, architecture);
    EXPECT_TRUE(made.ok()) << render(made.diags()) << text;
    return made.ok() ? std::move(*made) : Compiled{};
  }

  // Of a drawn graph's schedule.
  void expect_to_fit(const hwdesc::Target& target, int architecture, std::mt19937& rng) {
    compiler::Options options;
    options.schedule = compiler::Schedule::always;
    const auto plan = compiler::compile(test::drawn_graph(rng), target, options);
    ASSERT_TRUE(plan.ok()) << render(plan.diags());
    const int resident = plan->plan.resident;
    if (resident == 0) return;
    const std::vector<ir::Kernel> kernels = lowered(plan->plan, target);
    int waves = 1;
    for (const ir::Kernel& k : kernels) waves = std::max(waves, k.waves);
    const std::string text = printed(kernels, resident);
    const Compiled made = compiled(text, architecture);
    ASSERT_TRUE(made.resources.contains("run_queues"));
    const Resources& r = made.resources.at("run_queues");
    EXPECT_LE(r.registers * 32 * waves * resident, kUnitRegisters);
    if (std::getenv("ASSAY_TEST_LISTING") != nullptr)
      std::cout << fmt::format("{} kernels, {} waves, {} on a unit: {} registers, {} B spilled\n",
                               kernels.size(), waves, resident, r.registers, r.spill_bytes);
    ++schedules_;
    if (architecture < 80 || !testing::has_disassembler()) return;
    incoherent_ += testing::occurrences(made.cubin, ".CONSTANT");
    incoherent_alone_ +=
        testing::occurrences(compiled(printed(kernels, 0), architecture).cubin, ".CONSTANT");
  }

  // All kernels of a drawn graph as one have the registers of the largest, or some for the table.
  void expect_to_merge(const hwdesc::Target& target, int architecture, std::mt19937& rng) {
    constexpr int kForTable = 8;
    compiler::Options options;
    options.schedule = compiler::Schedule::off;
    const auto plan = compiler::compile(test::drawn_graph(rng), target, options);
    ASSERT_TRUE(plan.ok()) << render(plan.diags());
    const std::vector<ir::Kernel> kernels = lowered(plan->plan, target);
    const auto text = codegen::render_merged(kernels, dialect_, "run_merged", 32);
    ASSERT_TRUE(text.ok()) << render(text.diags());
    const Compiled made = compiled(*text, architecture),
                   alone = compiled(printed(kernels, 0), architecture);
    ASSERT_TRUE(made.resources.contains("run_merged"));
    const Resources& r = made.resources.at("run_merged");
    Resources most{};
    for (const auto& [name, of] : alone.resources) {
      most.registers = std::max(most.registers, of.registers);
      most.spill_bytes = std::max(most.spill_bytes, of.spill_bytes);
    }
    EXPECT_LE(r.registers, most.registers + kForTable);
    EXPECT_LE(r.spill_bytes, most.spill_bytes);
    if (std::getenv("ASSAY_TEST_LISTING") != nullptr)
      std::cout << fmt::format("{} kernels: {} registers, {} B spilled; alone {}, {} B\n",
                               kernels.size(), r.registers, r.spill_bytes, most.registers,
                               most.spill_bytes);
  }

  const Compiler* compiler_ = nullptr;
  codegen::Dialect dialect_;
  int schedules_ = 0;
  // Loads that do not see what other units write in the same launch.
  int incoherent_ = 0, incoherent_alone_ = 0;
};

std::vector<std::pair<hwdesc::Target, int>> targets() {
  std::vector<std::pair<hwdesc::Target, int>> out;
  for (const auto& [name, architecture] :
       {std::pair{"nvidia/v100-pcie-16gb", 70}, {"nvidia/h200", 90}}) {
    const auto profile = toolkit::load_profile(name);
    if (!profile) throw std::runtime_error(render(profile.diags()));
    const auto target = toolkit::target_of(*profile, "cuda");
    if (!target) throw std::runtime_error(render(target.diags()));
    out.emplace_back(*target, architecture);
  }
  return out;
}

TEST_F(NvrtcQueues, merged_kernels_need_what_the_largest_needs) {
  std::mt19937 rng(37);
  for (const auto& [target, architecture] : targets())
    for (int round = 0; round < 4; ++round) expect_to_merge(target, architecture, rng);
}

TEST_F(NvrtcQueues, compile_and_see_what_other_units_wrote) {
  std::mt19937 rng(29);
  for (const auto& [target, architecture] : targets())
    for (int round = 0; round < 4; ++round) expect_to_fit(target, architecture, rng);
  EXPECT_GT(schedules_, 4);
  if (!testing::has_disassembler()) return;
  EXPECT_EQ(incoherent_, 0);
  EXPECT_GT(incoherent_alone_, 0) << "launches of their own may use them";
}

}  // namespace
}  // namespace assay::runtime::cuda
