// Programs with matrix instructions for waves, printed and compiled to machine code by NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <span>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "lower/lower.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/lower/matrix_programs.h"

namespace assay::runtime::cuda {
namespace {

using ::testing::HasSubstr;

constexpr int kPrograms = 200;
constexpr int kArchitectures[] = {80, 90};
constexpr int64_t kPredicates = 16;  // spilled at edges: a thread has seven
constexpr const char* kInstructions[] = {
    "sm80.mma.m16n8k16.bf16.f32",   "sm80.mma.m16n8k16.f16.f32",   "sm80.mma.m16n8k8.tf32.f32",
    "sm80.mma.m16n8k32.i8.i32",     "lane.dot.m1n1k4.i8.i32",      "lane.dot.m1n1k4.u8.i32",
    "sm89.mma.m16n8k32.f8e4m3.f32", "sm89.mma.m16n8k32.f8e5m2.f32"};

class NvrtcMatrix : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* named = std::getenv("ASSAY_NVRTC_LIBRARY");
    if (named != nullptr && !std::filesystem::exists(named))
      GTEST_SKIP() << "scripts/nvrtc.sh has not brought " << named;
    const auto loaded = Compiler::load();
    if (!loaded && named == nullptr) GTEST_SKIP() << render(loaded.diags());
    ASSERT_TRUE(loaded.ok()) << render(loaded.diags());
    compiler_ = *loaded;
    auto dialect = codegen::parse_dialect(codegen::dialect_text("cuda"), "cuda.yaml");
    ASSERT_TRUE(dialect.ok()) << render(dialect.diags());
    dialect_ = std::move(dialect).value();
  }

  // `spilled`: bytes of a thread, at most.
  void check(const ir::Program& p, const hwdesc::Target& target, int64_t spilled,
             std::span<const int> architectures = kArchitectures) {
    const auto kernel = lower::lower(p, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    const auto text = codegen::render(std::vector{*kernel}, dialect_, 32);
    ASSERT_TRUE(text.ok()) << render(text.diags());
    EXPECT_THAT(*text, AnyOf(HasSubstr("mma.sync.aligned"), HasSubstr("wmma.mma.sync"),
                             HasSubstr("__dp4a(")));
    for (const int architecture : architectures) {
      if (architecture < 89 && p.instruction.starts_with("sm89")) continue;
      const auto made = compiler_->compile(*text, architecture);
      ASSERT_TRUE(made.ok()) << render(made.diags()) << ir::print_program(p) << *text;
      for (const auto& [entry, resources] : made->resources) {
        EXPECT_LE(resources.spill_bytes, spilled) << entry << "\n" << ir::print_program(p);
        EXPECT_LE(resources.stack_bytes, spilled) << entry << "\n" << ir::print_program(p);
      }
    }
  }

  const Compiler* compiler_ = nullptr;
  codegen::Dialect dialect_;
};

TEST_F(NvrtcMatrix, compiles_random_products) {
  const char* named = std::getenv("ASSAY_TEST_EVERY");
  const int every = named == nullptr ? 1 : std::stoi(named);
  std::mt19937 rng(31);
  for (const char* name : kInstructions) {
    const hwdesc::Target target = test::with_instruction(test::small_gpu(32), name);
    for (int i = 0; i < kPrograms; ++i) {
      const ir::Program p = test::random_matrix_program(name, target, rng);
      if (i % every == 0) check(p, target, kPredicates);
      if (HasFatalFailure()) return;
    }
  }
}

// Opaque fragments, of the first chip that has them on.
TEST_F(NvrtcMatrix, compiles_random_products_of_opaque_fragments) {
  const char* named = std::getenv("ASSAY_TEST_EVERY");
  const int every = named == nullptr ? 1 : std::stoi(named);
  std::mt19937 rng(37);
  const std::string name = "sm70.wmma.m16n16k16.f16.f32";
  constexpr int kSince[] = {70, 90};
  const hwdesc::Target target = test::with_instruction(test::small_gpu(32), name);
  for (int i = 0; i < kPrograms; ++i) {
    const ir::Program p = test::random_matrix_program(name, target, rng);
    if (i % every == 0) check(p, target, kPredicates, kSince);
    if (HasFatalFailure()) return;
  }
}

// 128 x 128 by four waves, each with 64 accumulators of a thread.
TEST_F(NvrtcMatrix, keeps_large_tiles_in_registers) {
  const std::string name = kInstructions[0];
  const auto p = ir::parse_program(R"(schema: assay/program/1
name: product
graph:
  name: product
  tensors: {a: bf16 1024x1024, b: bf16 1024x1024, c: f32 1024x1024}
  inputs: [a, b]
  outputs: [c]
  nodes:
    - {name: mm, op: matmul, out: "c[m, n]", axes: {m: 1024, n: 1024, k: 1024}, combine: sum,
       body: "a[m, k] * b[k, n]"}
tiles:
  - {memory: l2, extent: {m: 128, n: 64, k: 1024}, order: [m, n]}
  - {memory: shared, extent: {m: 128, n: 64, k: 32}, order: [k]}
  - {memory: registers, extent: {m: 64, n: 32, k: 16}, order: [m, n, k]}
vector: {axis: n, width: 32}
workers: {m: 2, n: 2}
staging:
  - {read: 0, level: 1, layout: "[0/8, 1/8, 0%8, 1%8]"}
  - {read: 1, level: 1, layout: "[1/8, 0/8, 1%8, 0%8]"}
instruction: )" + name + "\n",
                                   "p.yaml");
  ASSERT_TRUE(p.ok()) << render(p.diags());
  check(*p, test::with_instruction(test::small_gpu(32), name), 0);
}

}  // namespace
}  // namespace assay::runtime::cuda
