// Which matrix instruction construction chooses, if any, by what the chip says of its rates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/search/construct.h"
#include "hwdesc/library.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "tests/lower/matrix_programs.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

constexpr const char* kDot = "avx512bf16.dot.m1n16k2.bf16.f32";
constexpr const char* kMma = "sm80.mma.m16n8k16.bf16.f32";

compiler::Problem product(const std::string& text) {
  auto g = compiler::parse_operator(text);
  if (!g.ok()) throw std::runtime_error(render(g.diags()));
  compiler::Problem p;
  p.graph = *g;
  for (const ir::Tensor& t : p.graph.tensors) {
    p.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
    p.packable.push_back(false);
  }
  return p;
}

compiler::Constructed choose(const compiler::Problem& p, const hwdesc::Target& target) {
  auto made = compiler::construct(p, target, *model::prepare(target), {}, {}, 2);
  if (!made.ok()) throw std::runtime_error(render(made.diags()));
  return std::move(*made);
}

// Multiply-adds a tick of a unit, where its lanes do 32.
hwdesc::Target with_rate(hwdesc::Target t, const char* instruction, double rate) {
  t = with_instruction(std::move(t), instruction);
  t.profile.instructions.back().rate.value = hwdesc::Rate{rate, "core"};
  return t;
}

TEST(MatrixChoices, AnInstructionIsChosenWhereItIsFaster) {
  const compiler::Problem p = product("matmul m=64 n=96 k=128 type=bf16");
  const compiler::Constructed fast = choose(p, with_rate(small_cpu(16, 2), kDot, 256));
  const ir::Program& chosen = fast.best.front().program;
  EXPECT_EQ(chosen.instruction, kDot);
  ASSERT_EQ(fast.others.size(), 1U);
  EXPECT_EQ(fast.others[0].instruction, "") << "multiply-adds lost";
  EXPECT_GT(fast.others[0].seconds, fast.best.front().estimate.seconds);
  EXPECT_THAT(compiler::print(fast.others[0]), HasSubstr("by multiply-adds: "));
  const compiler::Constructed slow = choose(p, with_rate(small_cpu(16, 2), kDot, 2));
  EXPECT_EQ(slow.best.front().program.instruction, "");
  ASSERT_EQ(slow.others.size(), 1U);
  EXPECT_EQ(slow.others[0].instruction, kDot);
}

TEST(MatrixChoices, NoneIsChosenForOtherTypes) {
  for (const char* type : {"f32", "f16"}) {
    const compiler::Problem p = product(std::string("matmul m=64 n=96 k=128 type=") + type);
    EXPECT_EQ(choose(p, with_rate(small_cpu(16, 2), kDot, 256)).best.front().program.instruction,
              "");
  }
}

// Weights are packed, so that the pairs of a register lie together.
TEST(MatrixChoices, NeighboursOfARegisterLieTogether) {
  const hwdesc::Target target = with_rate(small_cpu(16, 2), kDot, 256);
  compiler::Problem p = product("matmul m=64 n=96 k=128 type=bf16");
  p.packable[1] = true;
  const ir::Program chosen = choose(p, target).best.front().program;
  ASSERT_EQ(chosen.instruction, kDot);
  ASSERT_TRUE(chosen.staging.empty());
  EXPECT_EQ(chosen.layouts[1].dims.back(), (ir::PhysicalDim{0, 1, 2})) << ir::print_program(chosen);
}

// Of half the width of the chip's widest vectors, where no wider instruction does the same.
TEST(MatrixChoices, NarrowerVectorsAreUsedForTheirInstruction) {
  constexpr const char* kNarrow = "arm.bfdot.m1n4k2.bf16.f32";
  hwdesc::Target target = with_rate(small_cpu(8, 2), kNarrow, 256);
  hwdesc::LaneMode mode;
  mode.width.value = hwdesc::Count{4};
  target.profile.execution.lanes.modes.push_back(mode);
  const compiler::Problem p = product("matmul m=64 n=96 k=128 type=bf16");
  const ir::Program chosen = choose(p, target).best.front().program;
  EXPECT_EQ(chosen.instruction, kNarrow);
  EXPECT_EQ(chosen.vector_width, 4);
  EXPECT_EQ(render(lower::legal(chosen, target)), "");
  const hwdesc::Target both = with_rate(with_rate(small_cpu(16, 2), kNarrow, 256), kDot, 256);
  EXPECT_EQ(choose(p, both).best.front().program.instruction, kDot);
}

struct OfChip {
  const char* profile;
  const char* type;
  const char* instruction;
};

// Of its first api, with that one's language where the library has it.
hwdesc::Target chip(const char* name) {
  const auto profile = hwdesc::load_from_library(name);
  if (!profile.ok()) throw std::runtime_error(render(profile.diags()));
  std::string_view dialect;
  for (const hwdesc::LibraryEntry& e : hwdesc::library())
    if (e.kind == hwdesc::LibraryKind::dialect && e.name == profile->apis[0].dialect)
      dialect = e.text;
  const auto target = hwdesc::select_target(*profile, "", dialect);
  if (!target.ok()) throw std::runtime_error(render(target.diags()));
  return *target;
}

// As their makers state the rates.
TEST(MatrixChoices, ChipsOfTheLibraryUseTheirInstructions) {
  for (const OfChip& c : {OfChip{"nvidia/p4", "i8", "lane.dot.m1n1k4.i8.i32"},
                          {"nvidia/p4", "f16", ""},
                          {"arm/graviton3", "i8", "arm.sdot.m1n4k4.i8.i32"},
                          {"arm/graviton3", "bf16", "arm.bfdot.m1n4k2.bf16.f32"},
                          {"amd/mi210", "f16", "gfx90a.mfma.f32.32x32x8.f16"},
                          {"amd/mi210", "bf16", "gfx90a.mfma.f32.32x32x8.bf16"}}) {
    const hwdesc::Target target = chip(c.profile);
    const compiler::Problem p = product(std::string("matmul m=1024 n=2048 k=512 type=") + c.type);
    const ir::Program chosen = choose(p, target).best.front().program;
    EXPECT_EQ(chosen.instruction, c.instruction) << c.profile << "\n" << ir::print_program(chosen);
    EXPECT_EQ(render(lower::legal(chosen, target)), "");
  }
}

TEST(MatrixChoices, WavesHoldFragmentsOfStagedTiles) {
  const hwdesc::Target target = with_rate(small_gpu(32), kMma, 4096);
  const compiler::Problem problem = product("matmul m=512 n=512 k=512 type=bf16");
  const ir::Program p = choose(problem, target).best.front().program;
  ASSERT_EQ(p.instruction, kMma) << ir::print_program(p);
  EXPECT_EQ(p.tiles.back().extent[0] % 16, 0);
  EXPECT_EQ(p.tiles.back().extent[1] % 8, 0);
  EXPECT_EQ(p.tiles.back().extent[2], 16);
  EXPECT_EQ(p.staging.size(), 2U);
  EXPECT_EQ(render(lower::legal(p, target)), "");
}

std::string kernel_of(const ir::Program& p, const hwdesc::Target& target) {
  const auto k = lower::lower(p, target);
  EXPECT_TRUE(k.ok()) << render(k.diags());
  return k.ok() ? ir::print_kernel(*k) : "";
}

// Whole fragments are loaded from where they lie: a from the tensor, b from a packed constant or a
// copy. At the tiles' ends some are put together.
TEST(MatrixChoices, TilesOfACoreLoadWholeFragments) {
  constexpr const char* kTile = "amx.tdpbf16ps.m16n16k32.bf16.f32";
  const hwdesc::Target target = with_rate(small_cpu(16, 2), kTile, 512);
  for (const bool packed : {true, false}) {
    compiler::Problem problem = product("matmul m=128 n=192 k=256 type=bf16");
    problem.packable[1] = packed;
    const ir::Program p = choose(problem, target).best.front().program;
    ASSERT_EQ(p.instruction, kTile) << ir::print_program(p);
    EXPECT_EQ(p.staging.empty(), packed);
    EXPECT_EQ(p.tiles.back().extent[0] * p.tiles.back().extent[1], 32 * 32) << "eight registers";
    const std::string text = kernel_of(p, target);
    EXPECT_THAT(text, testing::Not(testing::ContainsRegex("fragment_[ab]")));
    EXPECT_THAT(text, HasSubstr(" by pairs"));
    problem = product("matmul m=127 n=191 k=251 type=bf16");
    problem.packable[1] = packed;
    const ir::Program edges = choose(problem, target).best.front().program;
    ASSERT_EQ(edges.instruction, kTile) << ir::print_program(edges);
    EXPECT_THAT(kernel_of(edges, target), HasSubstr("fragment_a"));
  }
  const compiler::Constructed slow =
      choose(product("matmul m=128 n=192 k=256 type=bf16"), with_rate(small_cpu(16, 2), kTile, 2));
  EXPECT_EQ(slow.best.front().program.instruction, "");
}

TEST(MatrixChoices, WavesLoadWholeFragmentsOfStagedTiles) {
  constexpr const char* kWave = "sm70.wmma.m16n16k16.f16.f32";
  hwdesc::Target target = with_rate(small_gpu(32), kWave, 4096);
  target.profile.memory[0].capacity.value = hwdesc::Bytes{32768};  // as the api's limit
  compiler::Problem problem = product("matmul m=512 n=512 k=512 type=f16");
  problem.graph.tensors[2].dtype = ir::DType::f32;
  const ir::Program p = choose(problem, target).best.front().program;
  ASSERT_EQ(p.instruction, kWave) << ir::print_program(p);
  EXPECT_EQ(p.staging.size(), 2U);
  EXPECT_EQ(render(lower::legal(p, target)), "");
  const std::string text = kernel_of(p, target);
  EXPECT_THAT(text, testing::AllOf(HasSubstr(" by row"), HasSubstr(" by col")));
  EXPECT_THAT(text, testing::Not(HasSubstr("fragment_")));
}

}  // namespace
}  // namespace assay::test
