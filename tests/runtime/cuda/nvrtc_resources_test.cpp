// Registers of threads as they are estimated, against what NVRTC reports.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "compiler/compile.h"
#include "lower/lower.h"
#include "model/analyse.h"
#include "model/analyse_mapped.h"
#include "runtime/cuda/nvrtc.h"
#include "toolkit/profiles.h"

namespace assay::runtime::cuda {
namespace {

double estimated_registers(const ir::Program& p, const model::Machine& m) {
  return p.threads ? model::analyse_mapped(p, model::thread_shape_of(m)).launch.registers_per_thread
                   : model::registers_of_thread(p);
}

// A compiler that aims at many resident groups may keep a few words of a kernel's start in memory.
constexpr int64_t kFewWords = 32;  // bytes, stores and loads

// First choices for products and convolutions.
TEST(NvrtcResources, RegistersAreAsEstimated) {
  const char* named = std::getenv("ASSAY_NVRTC_LIBRARY");
  if (named == nullptr || !std::filesystem::exists(named)) GTEST_SKIP() << "no NVRTC here";
  const auto loaded = Compiler::load();
  ASSERT_TRUE(loaded.ok()) << render(loaded.diags());
  const auto dialect = codegen::parse_dialect(codegen::dialect_text("cuda"), "cuda.yaml");
  ASSERT_TRUE(dialect.ok());
  std::vector<double> errors;
  std::string listing;
  for (const std::string name : {"nvidia/a100-sxm4-40gb", "nvidia/h100-sxm5-80gb"}) {
    const auto profile = toolkit::load_profile(name);
    ASSERT_TRUE(profile.ok());
    const auto target = toolkit::target_of(*profile, "cuda");
    ASSERT_TRUE(target.ok());
    const model::Machine m = *model::prepare(*target);
    for (const std::string text :
         {"matmul m=512 n=512 k=512", "matmul m=2048 n=2048 k=2048", "matmul m=1021 n=509 k=257",
          "matmul m=64 n=4096 k=1024", "matmul m=2048 n=2048 k=2048 type=bf16",
          "matmul m=512 n=512 k=512 type=bf16", "matmul m=4096 n=4096 k=4096 type=f16",
          "matmul m=1000 n=776 k=520 type=f16", "matmul m=1024 n=1024 k=1024 type=i8",
          "conv n=1 c=64 h=56 w=56 o=64 r=3 s=3 pad=1", "conv n=1 c=256 h=14 w=14 o=256 r=1 s=1",
          "conv n=8 c=128 h=28 w=28 o=128 r=3 s=3 pad=1"}) {
      const auto graph = compiler::parse_operator(text);
      ASSERT_TRUE(graph.ok()) << render(graph.diags());
      const auto compiled = compiler::compile(*graph, *target, {});
      ASSERT_TRUE(compiled.ok()) << render(compiled.diags());
      for (const ir::Program& p : compiled->plan.programs) {
        const auto kernel = lower::lower(p, *target);
        ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
        const auto printed = codegen::render(std::span(&*kernel, 1), *dialect, 32);
        ASSERT_TRUE(printed.ok()) << render(printed.diags());
        const auto made =
            (*loaded)->compile(*printed, name.find("h100") != std::string::npos ? 90 : 80);
        ASSERT_TRUE(made.ok()) << render(made.diags()) << *printed;
        const Resources& r = made->resources.begin()->second;
        const double estimated = estimated_registers(p, m);
        EXPECT_LE(r.spill_bytes, kFewWords) << name << " " << text << "\n" << ir::print_program(p);
        errors.push_back(std::abs(std::log(estimated / r.registers)));
        listing +=
            fmt::format("{} {}: {:.0f} estimated, {} used\n", name, text, estimated, r.registers);
      }
    }
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LE(std::exp(errors[errors.size() / 2]) - 1, 0.25) << listing;
  if (std::getenv("ASSAY_TEST_LISTING") != nullptr) std::cout << listing;
}

}  // namespace
}  // namespace assay::runtime::cuda
