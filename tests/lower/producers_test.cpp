// Tile-graphs of several reductions: what a group keeps on the chip, and what is refused.
#include "ir/producers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// y = relu(x w + b) v in groups of 8 rows, the last of 5.
std::string chain(const std::string& from = "", const std::string& to = "") {
  return replaced(R"yaml(schema: assay/program/2
name: chain
graph:
  name: chain
  tensors: {h: f32 37x24, v: f32 24x19, y: f32 37x19, x: f32 37x11, w: f32 11x24, b: f32 24}
  inputs: [h, v, x, w, b]
  outputs: [y]
  nodes:
    - {name: second, op: matmul, out: "y[m, n]", axes: {m: 37, n: 19, k: 24}, combine: sum,
       body: "h[m, k] * v[k, n]"}
layouts: {h: "[0%8, 1]"}
tiles:
  - {memory: l2, extent: {m: 8}, order: [m, n]}
  - {memory: registers, extent: {m: 4, n: 8, k: 1}, order: [m, n, k]}
vector: {axis: n, width: 8}
producers:
  - level: l1
    tensors: {a: x, w: w, b: b, h: h}
    program:
      name: first
      graph:
        name: first
        tensors: {a: f32 37x11, w: f32 11x24, p: f32 37x24, b: f32 24, h: f32 37x24}
        inputs: [a, w, b]
        outputs: [h]
        nodes:
          - {name: product, op: matmul, out: "p[m, n]", axes: {m: 37, n: 24, k: 11}, combine: sum,
             body: "a[m, k] * w[k, n]"}
          - {name: relu, op: relu, out: "h[m, n]", axes: {m: 37, n: 24},
             body: "max(p[m, n] + b[n], 0)"}
      edges: [{from: 0, to: 1, level: registers}]
      layouts: {h: "[0%8, 1]"}
      tiles:
        - {memory: l2, extent: {m: 8}, order: [m, n]}
        - {memory: registers, extent: {m: 2, n: 16, k: 1}, order: [n, m, k]}
      vector: {axis: n, width: 8}
)yaml",
                  from, to);
}

std::string faults(const std::string& text) {
  const Result<ir::Program> p = ir::parse_program(text, "p.yaml");
  return p.ok() ? "" : render(p.diags());
}

TEST(Producers, AGroupMakesTheRowsThatItReads) {
  const Result<ir::Program> p = ir::parse_program(chain(), "p.yaml");
  ASSERT_TRUE(p.ok()) << render(p.diags());
  EXPECT_EQ(ir::arguments_of(*p), (std::vector<int>{1, 3, 4, 5, 2})) << "h is no argument";
  EXPECT_EQ(ir::passed_bytes(*p, p->producers[0]), 8 * 24 * 4);
  EXPECT_EQ(*ir::group_axes(*p), (std::vector<std::vector<int>>{{0, -1, -1}, {0, -1, -1}}));
  std::mt19937 rng(1);
  const Comparison c = compare(*p, small_cpu(8, 2), rng);
  EXPECT_EQ(c.fault, "");
  EXPECT_LT(c.difference, 1e-5);
  const auto kernel = lower::lower(*p, small_cpu(8, 2));
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->groups, 5);
  ASSERT_EQ(kernel->buffers.size(), 6U);
  EXPECT_EQ(kernel->buffers[5].scope, ir::Scope::scratch);
  EXPECT_EQ(kernel->buffers[5].elements, 8 * 24);
}

// Constants of one program's functions would take registers from another's product.
TEST(Producers, EachProgramIsAFunctionOfItsOwnInCpp) {
  const Result<ir::Program> p = ir::parse_program(chain(), "p.yaml");
  ASSERT_TRUE(p.ok());
  const auto kernel = lower::lower(*p, small_cpu(8, 2));
  ASSERT_TRUE(kernel.ok());
  const auto text = [&](const char* dialect) {
    const auto source =
        codegen::render(std::span<const ir::Kernel>(&*kernel, 1),
                        *codegen::parse_dialect(codegen::dialect_text(dialect), dialect));
    EXPECT_TRUE(source.ok()) << render(source.diags());
    return source.ok() ? *source : std::string();
  };
  EXPECT_THAT(text("cpp"), HasSubstr("noinline)) void chain_body_part0("));
  EXPECT_THAT(text("cpp"), HasSubstr("  chain_body_part1("));
  EXPECT_THAT(text("opencl"), Not(HasSubstr("chain_body_part")));
}

TEST(Producers, TextIsReadBackAsItIs) {
  const Result<ir::Program> p = ir::parse_program(chain(), "p.yaml");
  ASSERT_TRUE(p.ok());
  const std::string text = ir::print_program(*p);
  const Result<ir::Program> back = ir::parse_program(text, "again.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags()) << text;
  EXPECT_EQ(*back, *p);
  EXPECT_THAT(text, HasSubstr("schema: assay/program/2"));
}

TEST(Producers, LanesThatAreThreadsMeetBetweenTwoPrograms) {
  Result<ir::Program> p = ir::parse_program(chain(), "p.yaml");
  ASSERT_TRUE(p.ok());
  p->producers[0].level = "shared";
  const hwdesc::Target gpu = small_gpu(8);
  const auto kernel = lower::lower(*p, gpu);
  ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
  EXPECT_TRUE(std::any_of(kernel->body.begin(), kernel->body.end(), [](const ir::Stmt& s) {
    return std::holds_alternative<ir::Barrier>(s.node);
  }));
  std::mt19937 rng(2);
  const Comparison c = compare(*p, gpu, rng);
  EXPECT_EQ(c.fault, "");
  EXPECT_LT(c.difference, 1e-5);
}

// The same, and h is an output as well.
std::string chain_of_two(const std::string& from = "", const std::string& to = "") {
  std::string text = replaced(chain(), "outputs: [y]", "outputs: [y, h]");
  for (int i = 0; i < 2; ++i) text = replaced(text, "layouts: {h: \"[0%8, 1]\"}", "layouts: {}");
  return replaced(text, from, to);
}

TEST(Producers, WhatIsReadElsewhereIsAnOutputAsWell) {
  const Result<ir::Program> p = ir::parse_program(chain_of_two(), "p.yaml");
  ASSERT_TRUE(p.ok()) << render(p.diags());
  EXPECT_EQ(ir::arguments_of(*p), (std::vector<int>{1, 3, 4, 5, 0, 2})) << "y is the last one";
  EXPECT_EQ(*ir::parse_program(ir::print_program(*p), "again.yaml"), *p);
  for (const hwdesc::Target& target : {small_cpu(8, 2), small_gpu(8)}) {
    ir::Program own = *p;
    own.producers[0].level = target.profile.memory.back().name;
    std::mt19937 rng(3);
    const Comparison c = compare(own, target, rng);
    EXPECT_EQ(c.fault, "");
    EXPECT_LT(c.difference, 1e-5);
    const auto kernel = lower::lower(own, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    ASSERT_EQ(kernel->buffers.size(), 6U) << "no scratch";
    EXPECT_TRUE(kernel->buffers[4].written && kernel->buffers[4].read_back);
    EXPECT_TRUE(kernel->buffers[5].written && !kernel->buffers[5].read_back);
  }
}

// What other threads stored is read again: no pointer may claim that nobody else writes.
TEST(Producers, ThreadsSeeWhatOthersStoredInGlobalMemory) {
  Result<ir::Program> p = ir::parse_program(chain_of_two(), "p.yaml");
  ASSERT_TRUE(p.ok());
  p->producers[0].level = small_gpu(8).profile.memory.back().name;
  for (ir::Program* own : {&*p, &p->producers[0].program})
    own->vector_axis = -1, own->vector_width = 1;
  const auto kernel = lower::lower(*p, small_gpu(8));
  ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
  const auto text = [&](const char* dialect) {
    const auto source =
        codegen::render(std::span<const ir::Kernel>(&*kernel, 1),
                        *codegen::parse_dialect(codegen::dialect_text(dialect), dialect));
    EXPECT_TRUE(source.ok()) << render(source.diags());
    return source.ok() ? *source : std::string();
  };
  const std::string opencl = text("opencl"), cuda = text("cuda"), glsl = text("glsl");
  // Only whether, as the texts are long.
  const auto has = [](const std::string& source, const char* part) {
    return source.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(opencl, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"));
  EXPECT_TRUE(has(opencl, "__global float* p4_h,"));
  EXPECT_TRUE(has(opencl, "__global float* p4_h, long p4_h_at"));
  EXPECT_TRUE(has(opencl, "__global float* restrict p5_y"));
  EXPECT_TRUE(has(cuda, "float* p4_h,"));
  EXPECT_TRUE(has(cuda, "float* __restrict__ p5_y"));
  EXPECT_TRUE(has(glsl, "coherent buffer p4_h_block"));
  EXPECT_TRUE(has(glsl, "memoryBarrierBuffer(); barrier();"));
}

TEST(Producers, OutputsThatNobodyMakesOrThatGroupsMakeAgainAreRefused) {
  EXPECT_THAT(faults(chain_of_two("outputs: [y, h]", "outputs: [y, x]")),
              HasSubstr("output x is not what the last node or a producer computes"));
  EXPECT_THAT(faults(chain_of_two("outputs: [y, h]", "outputs: [y, h, h]")),
              HasSubstr("h is an output twice"));
  EXPECT_THAT(faults(replaced(chain(), "outputs: [y]", "outputs: [y, h]")),
              HasSubstr("h: it is an output, and its layout holds 8 of 37 along dimension 0"));
  EXPECT_THAT(faults(chain_of_two("{memory: l2, extent: {m: 8}, order: [m, n]}",
                                  "{memory: l2, extent: {m: 8, n: 8}, order: [m, n]}")),
              HasSubstr("h is an output, and the groups along axis n would store the same of it"));
  Result<ir::Program> p = ir::parse_program(chain_of_two(), "p.yaml");
  ASSERT_TRUE(p.ok());
  p->producers[0].level = "shared";
  EXPECT_THAT(render(lower::legal(*p, small_gpu(8))),
              HasSubstr("h is an output of the step, and shared is a scratchpad"));
}

TEST(Producers, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(
      faults(chain("extent: {m: 8}, order: [m, n]}\n        - ",
                   "extent: {m: 16}, order: [m, n]}\n        - ")),
      HasSubstr("p.yaml:17:3: error: chain: h: its layout holds 8 along dimension 0, where a "
                "group makes tiles of 16"));
  EXPECT_THAT(faults(chain("extent: {m: 2, n: 16, k: 1}", "extent: {m: 3, n: 16, k: 1}")),
              HasSubstr("p.yaml:20:7: error: first: tile 1, axis m: extent 3 does not divide"));
  ir::Program p = *ir::parse_program(chain(), "p.yaml");
  p.producers[0].program.tiles[0].extent[0] = 16;
  p.layouts[0].dims[0].mod = p.producers[0].program.layouts[4].dims[0].mod = 16;
  EXPECT_THAT(render(ir::verify(p)), HasSubstr("a group makes 16, and what is read is 8"));
  EXPECT_THAT(faults(chain("h[m, k] * v", "h[36 - m, k] * v")),
              HasSubstr("tiles that are kept on the chip are disjoint"));
  EXPECT_THAT(
      faults(chain("layouts: {h: \"[0%8, 1]\"}\ntiles", "layouts: {h: \"[0%4, 1]\"}\ntiles")),
      HasSubstr("another type, shape or layout"));
  EXPECT_THAT(faults(chain("tensors: {a: x, w: w, b: b, h: h}", "tensors: {a: x, w: w, b: b}")),
              HasSubstr("output is none of the whole"));
  EXPECT_THAT(
      faults(chain("tensors: {a: x, w: w, b: b, h: h}", "tensors: {a: x, w: w, b: b, h: y}")),
      HasSubstr("another type, shape"));
  EXPECT_THAT(faults(chain("h[m, k] * v", "x[m, 0 * k] * v")), HasSubstr("no later program reads"));
}

TEST(Producers, AMemoryThatIsNotThereOrDoesNotHoldTheTileIsRefused) {
  Result<ir::Program> p = ir::parse_program(chain(), "p.yaml");
  ASSERT_TRUE(p.ok());
  p->producers[0].level = "l9";
  EXPECT_THAT(render(lower::legal(*p, small_cpu(8, 2))),
              HasSubstr("h is kept on the chip in 'l9', which the profile has not"));
  p->producers[0].level = "l1";
  hwdesc::Target tiny = small_cpu(8, 2);
  for (hwdesc::MemoryLevel& l : tiny.profile.memory)
    if (l.name == "l1") l.capacity.value->v = 512;
  EXPECT_THAT(render(lower::legal(*p, tiny)),
              HasSubstr("a tile of h has 768 B, and l1 holds 512 B"));
  EXPECT_THAT(render(lower::legal(*p, small_gpu(8))), HasSubstr("h is kept on the chip in 'l1'"));
  const std::string far = small_cpu(8, 2).profile.memory.back().name;
  p->producers[0].level = far;
  EXPECT_THAT(render(lower::legal(*p, small_cpu(8, 2))),
              HasSubstr("in " + far + ", which is the farthest memory"));
  p->producers[0].level = small_gpu(8).profile.memory.back().name;
  EXPECT_THAT(render(lower::legal(*p, small_gpu(8))),
              HasSubstr("where threads of a group keep tiles in a scratchpad"));
}

// A copy of 1824 B, up to 1856 in steps of 64, and a tile of 768 B.
TEST(Producers, StagedCopiesCountBesideTheTiles) {
  Result<ir::Program> p = ir::parse_program(chain(), "p.yaml");
  ASSERT_TRUE(p.ok());
  p->producers[0].level = "shared";
  p->staging.push_back({1, 0, ir::row_major(2)});
  hwdesc::Target gpu = small_gpu(8);
  gpu.api.limits.group_memory.value = hwdesc::Bytes{2000};
  EXPECT_THAT(render(lower::legal(*p, gpu)), HasSubstr("tiles and copies of 2624 B"));
  gpu.api.limits.group_memory.value = hwdesc::Bytes{2624};
  EXPECT_THAT(render(lower::legal(*p, gpu)), Not(HasSubstr("tiles and copies")));
}

// y = exp(relu(x + 1) * 2 ..): the first tile is dead when the third is made.
TEST(Producers, TilesThatAreNoLongerReadAreOverwritten) {
  const Result<ir::Program> one = ir::parse_program(chain(), "p.yaml");
  ASSERT_TRUE(one.ok());
  ir::Program p = *one;
  // h -> h2 -> h3 -> y, each as large as the others.
  for (int i = 0; i < 2; ++i) {
    const int from = ir::passed_tensor(p.producers.back()),
              to = static_cast<int>(p.graph.tensors.size());
    p.graph.tensors.push_back(p.graph.tensors[static_cast<size_t>(from)]);
    p.graph.tensors.back().name = "h" + std::to_string(i + 2);
    p.graph.inputs.push_back(to);
    p.layouts.push_back(p.layouts[static_cast<size_t>(from)]);
    ir::Producer r;
    r.level = p.producers[0].level;
    r.tensors = {from, to};
    r.program.name = "twice" + std::to_string(i);
    r.program.graph.name = r.program.name;
    r.program.graph.tensors = {p.graph.tensors[static_cast<size_t>(from)], p.graph.tensors.back()};
    r.program.graph.inputs = {0};
    r.program.graph.outputs = {1};
    ir::Node n;
    n.name = n.op = "twice";
    n.axes = {{"m", 37}, {"n", 24}};
    n.output = 1;
    n.reads = {{0, {ir::variable(0), ir::variable(1)}}};
    n.body = ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(0)});
    r.program.graph.nodes = {n};
    r.program.layouts = {p.layouts.back(), p.layouts.back()};
    r.program.tiles = {{"l2", {8, 24}, {0, 1}}, {"registers", {1, 8}, {0, 1}}};
    r.program.vector_axis = 1;
    r.program.vector_width = 8;
    p.producers.push_back(std::move(r));
    p.graph.nodes[0].reads[0].tensor = to;
  }
  ASSERT_EQ(render(ir::verify(p)), "");
  const auto kernel = lower::lower(p, small_cpu(8, 2));
  ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
  ASSERT_EQ(kernel->buffers.size(), 6U);
  EXPECT_EQ(kernel->buffers[5].elements, 2 * 8 * 24) << "two tiles at a time, not three";
  std::mt19937 rng(3);
  const Comparison c = compare(p, small_cpu(8, 2), rng);
  EXPECT_EQ(c.fault, "");
  EXPECT_LT(c.difference, 1e-5);
}

TEST(Producers, AFunctionOfItsOwnHasNoConditions) {
  const Result<ir::Program> p = ir::parse_program(chain(), "p.yaml");
  ASSERT_TRUE(p.ok());
  auto kernel = lower::lower(*p, small_cpu(8, 2));
  ASSERT_TRUE(kernel.ok());
  ASSERT_TRUE(ir::verify(*kernel).empty());
  std::get<ir::If>(kernel->body[0].node).conditions.push_back({ir::variable(0), 0, 1});
  EXPECT_THAT(render(ir::verify(*kernel)), HasSubstr("a function of its own has conditions"));
}

// As they stand they are too large to be interpreted: of each, the same with short axes.
TEST(Producers, ExamplesVerifyAndCompute) {
  const auto small = [](std::string text,
                        std::vector<std::pair<std::string, std::string>> shorter) {
    for (const auto& [from, to] : shorter)
      for (size_t at = text.find(from); at != std::string::npos;
           at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
  };
  const std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> all =
      {{"matmul-chain", {{"4096", "150"}, {"1024", "80"}, {"256", "48"}}},
       {"attention", {{"512", "128"}, {"12x", "3x"}, {"h: 12", "h: 3"}}},
       {"depthwise-pointwise", {{"112", "28"}}},
       {"halo", {{"112", "28"}, {"x14x", "x4x"}, {"g: 14", "g: 4"}}},
       {"residual", {{"4096", "150"}}}};
  for (const auto& [name, shorter] : all) {
    const std::string file =
        std::string(ASSAY_SOURCE_DIR) + "/examples/tile-graph-" + name + ".yaml";
    std::ifstream in(file);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const Result<ir::Program> whole = ir::parse_program(text, file);
    ASSERT_TRUE(whole.ok()) << render(whole.diags());
    const Result<ir::Program> p = ir::parse_program(small(text, shorter), file);
    ASSERT_TRUE(p.ok()) << render(p.diags());
    hwdesc::Target cpu = small_cpu(16, 2);
    for (hwdesc::MemoryLevel& l : cpu.profile.memory)
      if (l.capacity.known()) l.capacity.value->v *= 1024;
    std::mt19937 rng(3);
    const Comparison c = compare(*p, cpu, rng);
    EXPECT_EQ(c.fault, "") << name;
    EXPECT_LT(c.difference, 1e-4) << name;
  }
}

}  // namespace
}  // namespace assay::test
