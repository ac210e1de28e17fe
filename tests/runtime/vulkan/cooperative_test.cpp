// Cooperative matrices: printed kernels become SPIR-V, and what a driver says becomes a fact.
// Values are the interpreter's business (tests/lower/matrix_test.cpp): no driver here has the
// extension.
#include "runtime/vulkan/cooperative.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "lower/lower.h"
#include "runtime/vulkan/spirv.h"
#include "tests/lower/matrix_programs.h"

namespace assay::runtime::vulkan {
namespace {

using ::testing::HasSubstr;

constexpr int kPrograms = 40;
constexpr uint32_t kMultiplyAdd = 5361, kLoad = 5359, kStore = 5360;  // OpCooperativeMatrix*NV

// Opcodes of a module: the low half of each instruction's first word, whose high half is its
// length.
std::multiset<uint32_t> opcodes(const std::vector<uint32_t>& words) {
  std::multiset<uint32_t> out;
  for (size_t at = 5; at < words.size() && words[at] >> 16 > 0; at += words[at] >> 16)
    out.insert(words[at] & 0xffff);
  return out;
}

TEST(Cooperative, random_products_become_spirv) {
  if (const std::string why = why_no_glsl_compiler(); !why.empty()) GTEST_SKIP() << why;
  const std::string name = "coopmat.m16n16k16.f16.f32";
  const hwdesc::Target target = test::with_instruction(test::small_gpu(32), name);
  const auto dialect = codegen::parse_dialect(codegen::dialect_text("glsl"), "glsl.yaml");
  ASSERT_TRUE(dialect.ok());
  std::mt19937 rng(43);
  int synced = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const ir::Program p = test::random_matrix_program(name, target, rng);
    const auto kernel = lower::lower(p, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    const auto text = codegen::render(std::span(&*kernel, 1), *dialect, 32);
    ASSERT_TRUE(text.ok()) << render(text.diags());
    const auto made = compile_glsl(*text);
    ASSERT_TRUE(made.ok()) << render(made.diags()) << *text;
    const std::multiset<uint32_t> found = opcodes(*made);
    EXPECT_GT(found.count(kMultiplyAdd), 0U);
    EXPECT_GT(found.count(kLoad), 0U);
    EXPECT_GT(found.count(kStore), 0U);
    synced += text->find("subgroupBarrier") != std::string::npos;
  }
  EXPECT_GT(synced, 10) << "fragments in scratch";
}

TEST(Cooperative, shapes_are_words) {
  auto p =
      made<VkCooperativeMatrixPropertiesNV>(VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV);
  p.MSize = p.NSize = p.KSize = 16;
  p.AType = p.BType = VK_COMPONENT_TYPE_FLOAT16_NV;
  p.CType = p.DType = VK_COMPONENT_TYPE_FLOAT32_NV;
  p.scope = VK_SCOPE_SUBGROUP_NV;
  EXPECT_EQ(word_of(p), "16x16x16.f16.f32");
  p.NSize = 8;
  EXPECT_EQ(word_of(p), "16x8x16.f16.f32");
  p.BType = VK_COMPONENT_TYPE_SINT8_NV;
  EXPECT_EQ(word_of(p), "");
  p.BType = p.AType = VK_COMPONENT_TYPE_UINT64_NV;
  EXPECT_EQ(word_of(p), "");
  p.BType = p.AType = VK_COMPONENT_TYPE_SINT8_NV;
  p.CType = p.DType = VK_COMPONENT_TYPE_SINT32_NV;
  EXPECT_EQ(word_of(p), "16x8x16.i8.i32");
  p.scope = VK_SCOPE_DEVICE_NV;
  EXPECT_EQ(word_of(p), "");
}

}  // namespace
}  // namespace assay::runtime::vulkan
