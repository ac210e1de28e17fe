// What a program may say that no lowering and no estimate honours: refused with the reason.
#include "lower/legal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/lower.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

// Eight groups of a 64 x 64 product; 32 x 8 and 8 x 16 elements are staged at a time.
ir::Program staged_product() {
  const Result<ir::Program> p = ir::parse_program(R"yaml(schema: assay/program/1
name: product
graph:
  name: product
  tensors: {a: f32 64x32, b: f32 32x64, c: f32 64x64}
  inputs: [a, b]
  outputs: [c]
  nodes:
    - {name: mm, op: matmul, out: "c[m, n]", axes: {m: 64, n: 64, k: 32}, combine: sum,
       body: "a[m, k] * b[k, n]"}
tiles:
  - {memory: l1, extent: {m: 32, n: 16, k: 32}, order: [m, n]}
  - {memory: shared, extent: {m: 32, n: 16, k: 8}, order: [k, m, n]}
  - {memory: registers, extent: {m: 8, n: 8, k: 1}, order: [m, n, k]}
vector: {axis: n, width: 8}
staging: [{read: 0, level: 1, layout: "[0, 1]"}, {read: 1, level: 1, layout: "[0, 1]"}]
workers: {m: 4, n: 2}
)yaml",
                                                  "p.yaml");
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return *p;
}

constexpr double kStaged = 4 * (32 * 8 + 8 * 16);  // bytes

std::string unpriceable(const ir::Program& p, const hwdesc::Target& t) {
  return render(lower::unpriceable(p, t));
}

TEST(Legal, MatrixInstructionsAreThoseOfTheChip) {
  const hwdesc::Target gpu = small_gpu(8);
  ir::Program p = staged_product();
  ASSERT_EQ(render(lower::legal(p, gpu)), "");
  p.instruction = "sm80.mma.m16n8k16.f16.f32";
  for (const std::string& text : {unpriceable(p, gpu), render(lower::legal(p, gpu))})
    EXPECT_THAT(text, HasSubstr("small-gpu has no matrix instruction 'sm80.mma.m16n8k16.f16.f32'"));
  p.instruction = "sm80.mma.m16n8k16.f16.f3";
  for (const std::string& text : {unpriceable(p, gpu), render(lower::legal(p, gpu))}) {
    EXPECT_THAT(text, HasSubstr("there is no matrix instruction 'sm80.mma.m16n8k16.f16.f3'"));
    EXPECT_THAT(text, HasSubstr("did you mean 'sm80.mma.m16n8k16.f16.f32'?"));
  }
}

TEST(Legal, StagesNeedAMoverAndAreNeverPrinted) {
  hwdesc::Target gpu = small_gpu(8);
  ir::Program p = staged_product();
  p.pipeline_stages = 2;
  EXPECT_THAT(unpriceable(p, gpu), HasSubstr("has no mover that copies into a scratchpad"));
  hwdesc::Mover mover;
  mover.name = "dma";
  mover.from = gpu.profile.memory.back().name;
  mover.to = gpu.profile.memory[0].name;
  ASSERT_TRUE(hwdesc::is_scratchpad(gpu.profile.memory[0]));
  gpu.profile.movers = {mover};
  EXPECT_THAT(unpriceable(p, gpu), HasSubstr("has no mover")) << "it may not be asynchronous";
  gpu.profile.movers[0].async = hwdesc::Fact::yes;
  EXPECT_EQ(unpriceable(p, gpu), "");
  EXPECT_THAT(render(lower::legal(p, gpu)),
              HasSubstr("pipeline_stages 2: copies ahead of their step are not generated"));
}

// On chips whose lanes are vectors too, and once for each stage.
TEST(Legal, StagedCopiesFitTheScratchpad) {
  for (const bool threads : {true, false}) {
    hwdesc::Target t = threads ? small_gpu(8) : small_cpu(8, 2);
    hwdesc::MemoryLevel& l = t.profile.memory[0];
    l.managed = hwdesc::Managed::explicit_;
    l.per = "unit";
    const ir::Program p = staged_product();
    l.capacity.value = hwdesc::Bytes{kStaged};
    EXPECT_EQ(unpriceable(p, t), "");
    l.capacity.value = hwdesc::Bytes{kStaged - 1};
    EXPECT_THAT(unpriceable(p, t), HasSubstr("staged copies of 1536 B exceed the 1535 B"));
    ir::Program twice = p;
    twice.pipeline_stages = 2;
    l.capacity.value = hwdesc::Bytes{2 * kStaged - 1};
    EXPECT_THAT(unpriceable(twice, t), HasSubstr("staged copies of 3072 B exceed the 3071 B"));
  }
}

}  // namespace
}  // namespace assay::test
