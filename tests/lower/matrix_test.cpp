// Programs with a matrix instruction: kernels against the float64 reference on random shapes, and
// what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "lower/count.h"
#include "lower/instruction.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "model/closed_form.h"
#include "model/fragment_grid.h"
#include "tests/lower/comparable_counts.h"
#include "tests/lower/matrix_programs.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kDot = "avx512bf16.dot.m1n16k2.bf16.f32";

struct Seen {
  int joined = 0, inserted = 0, staged = 0, workers = 0, lanes = 0, dealt = 0;
  int direct = 0, together = 0, apart = 0;  // fragments from and to tensors and copies, and scratch
  void add(const ir::Program& p, const ir::Kernel& k) {
    const std::string text = ir::print_kernel(k);
    joined += text.find(" of 2 ") != std::string::npos;
    inserted += text.find("insert(") != std::string::npos;
    staged += !p.staging.empty();
    workers += k.waves > 1;
    dealt += text.find("copy ") != std::string::npos;
    lanes += k.vector_lane >= 0;
    together += text.find(" = fragment_a[") != std::string::npos ||
                text.find(" = fragment_b[") != std::string::npos;
    apart += text.find("fragment_c[") != std::string::npos;
    const auto whole = [&](const char* from) { return text.find(from) != std::string::npos; };
    direct += whole(" by rows = c") || whole(" = a[") || whole(" = b[") || whole(" = a_staged[") ||
              whole(" = b_staged[");
  }
};

Seen check(const std::string& instruction, const hwdesc::Target& on, int programs, unsigned seed) {
  std::mt19937 rng(seed);
  const hwdesc::Target target = with_instruction(on, instruction);
  Seen seen;
  for (int i = 0; i < programs; ++i) {
    const ir::Program p = random_matrix_program(instruction, target, rng);
    const auto kernel = lower::lower(p, target);
    EXPECT_TRUE(kernel.ok()) << render(kernel.diags()) << ir::print_program(p);
    if (!kernel.ok()) return seen;
    const Comparison c = compare(p, target, small_inputs(p.graph, rng));
    EXPECT_EQ(c.fault, "") << "program " << i << "\n"
                           << ir::print_program(p) << ir::print_kernel(*kernel);
    EXPECT_LE(c.difference, tolerance(p)) << "program " << i << "\n"
                                          << ir::print_program(p) << ir::print_kernel(*kernel);
    if (::testing::Test::HasFailure()) return seen;
    seen.add(p, *kernel);
  }
  return seen;
}

TEST(Matrix, RandomVectorProductsComputeWhatTheReferenceComputes) {
  const Seen seen = check(kDot, small_cpu(16, 2), 400, 1);
  EXPECT_GT(seen.joined, 100);
  EXPECT_GT(seen.inserted, 100);
  EXPECT_GT(seen.staged, 40);
  EXPECT_EQ(seen.lanes, 0) << "vectors have lanes that are neighbours";
}

TEST(Matrix, RandomVectorProductsOfBytesAreExact) {
  const Seen seen = check("avx512vnni.dot.m1n16k4.u8.i32", small_cpu(16, 2), 300, 11);
  EXPECT_GT(seen.inserted, 50);
  EXPECT_GT(seen.staged, 30);
}

TEST(Matrix, RandomProductsOfWavesComputeWhatTheReferenceComputes) {
  unsigned seed = 2;
  for (const char* name :
       {"sm80.mma.m16n8k16.bf16.f32", "sm80.mma.m16n8k16.f16.f32", "sm80.mma.m16n8k8.tf32.f32",
        "sm80.mma.m16n8k32.i8.i32", "sm89.mma.m16n8k32.f8e4m3.f32", "sm89.mma.m16n8k32.f8e5m2.f32",
        "sm75.mma.m16n8k8.f16.f32", "made-up.mma.m16n8k16.f16.f32"}) {
    const Seen seen = check(name, small_gpu(32), 200, ++seed);
    if (HasFailure()) return;
    EXPECT_GT(seen.staged, 20) << name;
    EXPECT_GT(seen.workers, 10) << name;
    EXPECT_GT(seen.dealt, 5) << name;
    EXPECT_GT(seen.lanes, 150) << name;
  }
}

struct Stored {  // a product whose operands lie either way in memory and in their copies
  int64_t m, n, k;
  bool a_turned, b_turned;
};

// 2 x 2 waves of 2 x 2 fragments; both operands are copied as they lie, two fragments deep.
ir::Program staged_product(const ir::MatrixInstruction& i, const Stored& s) {
  const std::string type(ir::name_of(i.a.number));
  const auto matrix = [&](bool turned, int64_t rows, int64_t columns) {
    return fmt::format("{} {}x{}", type, turned ? columns : rows, turned ? rows : columns);
  };
  const auto at = [](const char* name, bool turned, const char* row, const char* column) {
    return fmt::format("{}[{}, {}]", name, turned ? column : row, turned ? row : column);
  };
  const int64_t depth = std::min<int64_t>(s.k, int64_t{2} * i.k);
  const auto p = ir::parse_program(
      fmt::format("schema: assay/program/1\nname: product\ngraph:\n  name: product\n"
                  "  tensors: {{a: {}, b: {}, c: {} {}x{}}}\n  inputs: [a, b]\n  outputs: [c]\n"
                  "  nodes:\n    - {{name: mm, op: matmul, out: \"c[m, n]\", axes: {{m: {}, n: {}, "
                  "k: {}}}, "
                  "combine: sum, body: \"{} * {}\"}}\n",
                  matrix(s.a_turned, s.m, s.k), matrix(s.b_turned, s.k, s.n),
                  ir::name_of(i.c.number), s.m, s.n, s.m, s.n, s.k, at("a", s.a_turned, "m", "k"),
                  at("b", s.b_turned, "k", "n")) +
          fmt::format(
              "tiles:\n  - {{memory: l2, extent: {{m: {0}, n: {1}, k: {2}}}, order: [m, n]}}\n"
              "  - {{memory: l1, extent: {{m: {0}, n: {1}, k: {3}}}, order: [k]}}\n"
              "  - {{memory: registers, extent: {{m: {4}, n: {5}, k: {6}}}, order: [m, n, k]}}\n",
              4 * i.m, 4 * i.n, s.k, depth, 2 * i.m, 2 * i.n, i.k) +
          fmt::format("vector: {{axis: n, width: 32}}\nworkers: {{m: 2, n: 2}}\ninstruction: {}\n"
                      "staging: [{{read: 0, level: 1, layout: \"[0, 1] pad 1:0,{}\"}}, "
                      "{{read: 1, level: 1, layout: \"[0, 1] pad 1:0,{}\"}}]\n",
                      i.name, 16 / ir::bytes_of(i.a.number), 16 / ir::bytes_of(i.b.number)),
      "p.yaml");
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return *p;
}

// Both ways, ends of rows and columns, and reductions whose last fragments are not whole.
TEST(Matrix, WholeFragmentsAreLoadedInRuns) {
  for (const char* name :
       {"sm80.mma.m16n8k16.bf16.f32", "sm80.mma.m16n8k16.f16.f32", "sm75.mma.m16n8k8.f16.f32",
        "sm80.mma.m16n8k32.i8.i32", "sm75.mma.m8n8k16.i8.i32", "sm89.mma.m16n8k32.f8e4m3.f32"}) {
    const ir::MatrixInstruction i = lower::known_instruction(name)->computes;
    const hwdesc::Target target = with_instruction(small_gpu(32), name);
    std::mt19937 rng(7);
    for (const bool a_turned : {false, true})
      for (const bool b_turned : {false, true})
        for (const auto& [m, n, k] : {std::tuple{128, 96, 192}, {131, 101, 193}, {67, 37, 71}}) {
          const ir::Program p = staged_product(i, {m, n, k, a_turned, b_turned});
          const auto kernel = lower::lower(p, target);
          ASSERT_TRUE(kernel.ok()) << render(kernel.diags()) << ir::print_program(p);
          const std::string text = ir::print_kernel(*kernel);
          const auto loads = [&](const char* operand, bool by_row) {
            return text.find(fmt::format(" = {} of {} by {} at", operand, i.name,
                                         by_row ? "row" : "column")) != std::string::npos;
          };
          EXPECT_EQ(loads("a", true), !a_turned) << text;
          EXPECT_EQ(loads("a", false), a_turned && ir::run_elements(i.a, false) > 0) << text;
          EXPECT_EQ(loads("b", true), !b_turned && ir::run_elements(i.b, true) > 0) << text;
          EXPECT_EQ(loads("b", false), b_turned) << text;
          const Comparison c = compare(p, target, small_inputs(p.graph, rng));
          EXPECT_EQ(c.fault, "") << text;
          EXPECT_LE(c.difference, tolerance(p)) << text;
          EXPECT_EQ(comparable_text(lower::count(*kernel)), comparable_text(model::closed_form(p)))
              << ir::print_program(p);
          if (HasFailure()) return;
        }
  }
}

// Do lanes of the last fragment of rows or columns lie outside?
bool ends_in_fragments(const ir::Program& p) {
  const auto product = lower::matrix_product(p);
  const auto ends = [&](int axis, int64_t step) {
    return p.graph.nodes[0].axes[static_cast<size_t>(axis)].extent % step != 0;
  };
  return ends(product->m, product->instruction.m) || ends(product->n, product->instruction.n);
}

// A load of the epilogue under the conditions of such lanes is one more in the kernel, where the
// closed form counts it with the others.
void same_epilogue_loads(const ir::Program& p, lower::Counts& counted,
                         const lower::Counts& closed) {
  const std::vector<int> arguments = ir::arguments_of(p);
  for (size_t b = 0; b + 1 < arguments.size(); ++b) {
    bool anchored = false;
    for (const ir::Read& r : p.graph.nodes[0].reads) anchored |= r.tensor == arguments[b];
    if (anchored) continue;
    EXPECT_LE(closed.buffers[b].fragment_loads, counted.buffers[b].fragment_loads);
    counted.buffers[b].fragment_loads = closed.buffers[b].fragment_loads;
  }
}

TEST(Matrix, ClosedFormsEqualTheCountOfTheKernel) {
  unsigned seed = 20;
  for (const auto& [name, lanes] : {std::pair{kDot, 16},
                                    {"avx512vnni.dot.m1n16k4.u8.i32", 16},
                                    {"arm.sdot.m1n4k4.i8.i32", 4},
                                    {"sm80.mma.m16n8k16.bf16.f32", 32},
                                    {"sm80.mma.m16n8k32.i8.i32", 32},
                                    {"sm75.mma.m16n8k8.f16.f32", 32},
                                    {"sm89.mma.m16n8k32.f8e4m3.f32", 32},
                                    {"lane.dot.m1n1k4.i8.i32", 32},
                                    {"gfx90a.mfma.f32.32x32x8.f16", 64}}) {
    std::mt19937 rng(++seed);
    const bool waves = lanes >= 32;
    const hwdesc::Target target =
        with_instruction(waves ? small_gpu(lanes) : small_cpu(lanes, 2), name);
    const int wanted = 150;
    int seen = 0;
    for (int i = 0; i < 6000 && seen < wanted; ++i) {
      const ir::Program p = random_matrix_program(name, target, rng);
      if (!model::has_closed_form(p, *lower::matrix_product(p))) continue;
      ++seen;
      const auto kernel = lower::lower(p, target);
      ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
      lower::Counts counted = lower::count(*kernel), closed = model::closed_form(p);
      if (waves && ends_in_fragments(p)) same_epilogue_loads(p, counted, closed);
      ASSERT_EQ(comparable_text(counted), comparable_text(closed))
          << name << " " << i << "\n"
          << ir::print_program(p) << ir::print_kernel(*kernel);
    }
    EXPECT_EQ(seen, wanted) << name;
  }
}

TEST(Matrix, FragmentsOfASingleLaneFitWavesOfAnyWidth) {
  unsigned seed = 20;
  for (const int wave : {4, 16, 32, 64}) {
    const Seen seen = check("lane.dot.m1n1k4.i8.i32", small_gpu(wave), 80, ++seed);
    if (HasFailure()) return;
    EXPECT_GT(seen.staged, 5) << wave;
    EXPECT_GT(seen.workers, 3) << wave;
  }
  check("lane.dot.m1n1k4.u8.i32", small_gpu(16), 80, ++seed);
}

TEST(Matrix, RandomProductsOfWavesOfAmdComputeWhatTheReferenceComputes) {
  unsigned seed = 40;
  for (const auto& [name, wave] : {std::pair{"gfx90a.mfma.f32.32x32x8.bf16", 64},
                                   {"gfx908.mfma.f32.32x32x4.bf16", 64},
                                   {"gfx942.mfma.f32.32x32x8.f16", 64},
                                   {"gfx90a.mfma.f32.32x32x2.f32", 64},
                                   {"gfx942.mfma.i32.32x32x16.i8", 64},
                                   {"gfx11.wmma.m16n16k16.f16.f32", 32},
                                   {"gfx11.wmma.m16n16k16.i8.i32", 32}}) {
    const Seen seen = check(name, small_gpu(wave), 40, ++seed);
    if (HasFailure()) return;
    EXPECT_GT(seen.lanes, 25) << name;
  }
}

// Opaque fragments: of tile registers, and of waves whose lanes a vendor deals as it likes.
TEST(Matrix, RandomProductsOfOpaqueFragmentsComputeWhatTheReferenceComputes) {
  unsigned seed = 30;
  for (const char* name : {"amx.tdpbf16ps.m16n16k32.bf16.f32", "amx.tdpbssd.m16n16k64.i8.i32",
                           "amx.tdpbusd.m16n16k64.u8.i32"}) {
    const Seen seen = check(name, small_cpu(16, 2), 200, ++seed);
    if (HasFailure()) return;
    EXPECT_GT(seen.staged, 20) << name;
    EXPECT_GT(seen.direct, 5) << name;
    EXPECT_GT(seen.together, 100) << name;
    EXPECT_GT(seen.apart, 100) << name;
    EXPECT_EQ(seen.lanes, 0) << name;
  }
  for (const char* name : {"sm70.wmma.m16n16k16.f16.f32", "coopmat.m16n16k16.f16.f32"}) {
    const Seen seen = check(name, small_gpu(32), 200, ++seed);
    EXPECT_GT(seen.staged, 20);
    EXPECT_GT(seen.workers, 5);
    EXPECT_GT(seen.direct, 20);
    EXPECT_GT(seen.together, 50);
    EXPECT_GT(seen.apart, 50);
  }
}

// c[m, n] = a[m, k] b[k, n] of bf16, in fragments of 2 x 2.
ir::Program product() {
  const Result<ir::Program> p = ir::parse_program(R"yaml(schema: assay/program/1
name: product
graph:
  name: product
  tensors: {a: bf16 64x32, b: bf16 32x64, c: f32 64x64}
  inputs: [a, b]
  outputs: [c]
  nodes:
    - {name: mm, op: matmul, out: "c[m, n]", axes: {m: 64, n: 64, k: 32}, combine: sum,
       body: "a[m, k] * b[k, n]"}
tiles:
  - {memory: l1, extent: {m: 32, n: 16, k: 32}, order: [m, n]}
  - {memory: registers, extent: {m: 32, n: 16, k: 16}, order: [m, n, k]}
vector: {axis: n, width: 32}
instruction: sm80.mma.m16n8k16.bf16.f32
)yaml",
                                                  "p.yaml");
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return *p;
}

template <class Change>
std::string refusal(const hwdesc::Target& t, const Change& change) {
  ir::Program p = product();
  change(p);
  return render(lower::legal(p, t));
}

TEST(Matrix, WhatNoFragmentsFitIsRefusedWithTheReason) {
  const hwdesc::Target gpu = with_instruction(
      with_instruction(small_gpu(32), product().instruction), "sm90.wgmma.f16.f32");
  EXPECT_EQ(refusal(gpu, [](ir::Program&) {}), "");
  EXPECT_THAT(refusal(gpu, [](ir::Program& p) { p.tiles[1].extent[2] = 8; }),
              HasSubstr("has fragments of 16 along k, the register tile has 8"));
  EXPECT_THAT(refusal(gpu, [](ir::Program& p) { p.tiles[1].extent[0] = 8; }),
              HasSubstr("has fragments of 16 along m, the register tile has 8"));
  EXPECT_THAT(refusal(gpu, [](ir::Program& p) { p.vector_width = 16; }),
              HasSubstr("has fragments in 32 lanes, the vector width is 16"));
  EXPECT_THAT(refusal(gpu, [](ir::Program& p) { p.prefetch = 2; }), HasSubstr("prefetch: 0"));
  EXPECT_THAT(refusal(gpu, [](ir::Program& p) { p.graph.tensors[0].dtype = ir::DType::f16; }),
              HasSubstr("multiplies bf16, and a is f16"));
  EXPECT_THAT(refusal(gpu, [](ir::Program& p) { p.graph.nodes[0].combine = ir::Combiner::max; }),
              HasSubstr("computes a sum of products of two operands"));
  EXPECT_THAT(
      refusal(gpu,
              [](ir::Program& p) {
                p.graph.nodes[0].body = ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)});
              }),
      HasSubstr("computes a sum of products of two operands"));
  EXPECT_THAT(refusal(gpu, [](ir::Program& p) { p.instruction = "sm90.wgmma.f16.f32"; }),
              HasSubstr("has operands outside of registers"));
  EXPECT_THAT(refusal(gpu,
                      [](ir::Program& p) {  // the reduction outside of the rows
                        p.tiles[0].order = {2, 0, 1};
                        p.tiles[0].extent[2] = 16;
                        p.tiles[1].extent[0] = 16;
                      }),
              HasSubstr("partial sums would pass through the output"));
  EXPECT_THAT(refusal(with_instruction(small_gpu(16), product().instruction),
                      [](ir::Program& p) { p.vector_width = 32; }),
              HasSubstr("has fragments in 32 lanes, which are not a wave of small-gpu"));
  EXPECT_THAT(
      refusal(with_instruction(small_cpu(16, 1), product().instruction), [](ir::Program&) {}),
      HasSubstr("which are not a vector of small-cpu"));
  EXPECT_THAT(refusal(gpu,
                      [](ir::Program& p) {
                        p.graph.nodes[0].reads[0].guarded = true;
                        p.graph.nodes[0].reads[0].fill = 0.1;
                      }),
              HasSubstr("reads bf16, which do not hold the 0.1"));
  const std::string lane = "lane.dot.m1n1k4.i8.i32";
  EXPECT_THAT(refusal(with_instruction(small_cpu(32, 1), lane),
                      [&](ir::Program& p) {
                        p.instruction = lane;
                        p.graph.tensors[0].dtype = p.graph.tensors[1].dtype = ir::DType::i8;
                        p.graph.tensors[2].dtype = ir::DType::i32;
                      }),
              HasSubstr("has fragments in 1 lane, which is not a vector of small-cpu"));
  hwdesc::Target other = gpu;
  other.dialect.known = true;
  other.dialect.name = "opencl";
  other.dialect.dtypes = {"f32", "bf16"};
  EXPECT_THAT(refusal(other, [](ir::Program&) {}),
              HasSubstr("dialect opencl does not spell matrix instruction"));
}

ir::Program example(const std::string& name) {
  std::ifstream in(ASSAY_SOURCE_DIR "/examples/" + name);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto p = ir::parse_program(text, name);
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return *p;
}

// Extents of 1/16, so that the reference is quick; the tiles as they are.
ir::Program smaller(ir::Program p, int64_t divisor) {
  for (ir::Tensor& t : p.graph.tensors)
    for (int64_t& n : t.shape) n /= divisor;
  for (ir::Axis& a : p.graph.nodes[0].axes) a.extent /= divisor;
  for (ir::TileLevel& t : p.tiles)
    for (size_t a = 0; a < t.extent.size(); ++a)
      t.extent[a] = std::min(t.extent[a], p.graph.nodes[0].axes[a].extent);
  return p;
}

TEST(Matrix, ExamplesAreLegalAndComputeTheirProduct) {
  std::mt19937 rng(9);
  const ir::Program mma = example("gemm-mma.yaml"), dot = example("gemm-dot.yaml");
  const hwdesc::Target gpu = with_instruction(small_gpu(32), mma.instruction),
                       cpu = with_instruction(small_cpu(16, 2), dot.instruction);
  EXPECT_EQ(render(lower::legal(mma, gpu)), "");
  EXPECT_EQ(render(lower::legal(dot, cpu)), "");
  for (const auto& [p, target] :
       {std::pair{smaller(mma, 16), gpu}, std::pair{smaller(dot, 4), cpu}}) {
    const Comparison c = compare(p, target, small_inputs(p.graph, rng));
    EXPECT_EQ(c.fault, "");
    EXPECT_LE(c.difference, 1e-5) << p.name;
  }
}

// Each step loads four fragments of a and four of b, and multiplies all pairs: an element of either
// is loaded once per tile of the other's axis.
TEST(Matrix, InstructionsAndFragmentsAreCounted) {
  const ir::Program p = example("gemm-mma.yaml");
  const auto k = lower::lower(p, with_instruction(small_gpu(32), p.instruction));
  ASSERT_TRUE(k.ok()) << render(k.diags());
  const lower::Counts c = lower::count(*k);
  const double n = 2048;
  EXPECT_EQ(c.matrix, n * n * n / (16 * 8 * 16));
  EXPECT_EQ(c.buffers[3].fragment_loads, n * n * n / 32 / (2 * 32)) << "a, once per 32 columns";
  EXPECT_EQ(c.buffers[4].fragment_loads, n * n * n / 64 / (2 * 32)) << "b, once per 64 rows";
  EXPECT_EQ(c.buffers[2].fragment_stores, n * n / 32);
  EXPECT_EQ(c.fma + c.simple, 0);
  EXPECT_EQ(comparable_text(c), comparable_text(model::closed_form(p)));
}

TEST(Matrix, RowsOfOneOperandAreAskedFor) {
  const hwdesc::Target gpu = with_instruction(small_gpu(32), product().instruction);
  EXPECT_THAT(refusal(gpu,
                      [](ir::Program& p) {  // columns of both
                        p.graph.nodes[0].reads[0].index[0] = ir::variable(1);
                      }),
              HasSubstr("has columns of one operand: n moves both"));
}

}  // namespace
}  // namespace assay::test
