// Lowering against the float64 reference, and counts against closed forms, on random programs.
#include <gtest/gtest.h>

#include "lower/count.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "model/closed_form.h"
#include "problems.h"

namespace assay::test {
namespace {

constexpr int kPrograms = 1000;

TEST(Lower, RandomProgramsComputeWhatTheReferenceComputes) {
  std::mt19937 rng(1);
  for (int i = 0; i < kPrograms; ++i) {
    const int width = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
    const hwdesc::Target target = small_cpu(width, 1 + i % 3);
    const ir::Program p = random_program(random_problem(rng, width), target, rng);
    const Comparison c = compare(p, target, rng);
    ASSERT_EQ(c.fault, "") << "program " << i << "\n" << ir::print_program(p);
    ASSERT_LT(c.difference, 1e-4) << "program " << i << "\n" << ir::print_program(p);
  }
}

// Instructions by kind and accesses per buffer; iterations, branches and prefetches are not part of
// the closed form.
lower::Counts comparable(lower::Counts c) {
  c.iterations = c.branches = c.prefetches = 0;
  return c;
}

std::string text(const lower::Counts& c) {
  std::string out = "fma " + std::to_string(c.fma) + " simple " + std::to_string(c.simple) + " divide " +
                    std::to_string(c.divide) + " math " + std::to_string(c.math) + "\n";
  for (const lower::AccessCount& a : c.buffers)
    out += "  vector loads " + std::to_string(a.vector_loads) + " splats " + std::to_string(a.splats) + " gathered " +
           std::to_string(a.gathered_lanes) + " stores " + std::to_string(a.vector_stores) + " scattered " +
           std::to_string(a.scattered_lanes) + "\n";
  return out;
}

TEST(Lower, ClosedFormEqualsCountOnRandomPrograms) {
  std::mt19937 rng(2);
  for (int i = 0; i < kPrograms; ++i) {
    const int width = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
    const hwdesc::Target target = small_cpu(width, 1 + i % 3);
    const ir::Program p = random_program(random_problem(rng, width), target, rng);
    const Result<ir::Kernel> kernel = lower::lower(p, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    ASSERT_EQ(text(comparable(lower::count(*kernel))), text(comparable(model::closed_form(p))))
        << "program " << i << "\n" << ir::print_program(p) << ir::print_kernel(*kernel);
  }
}

TEST(Lower, RandomProgramsAreVerified) {
  std::mt19937 rng(3);
  for (int i = 0; i < 200; ++i) {
    const hwdesc::Target target = small_cpu(8, 2);
    const Result<ir::Kernel> kernel = lower::lower(random_program(random_problem(rng, 8), target, rng), target);
    ASSERT_TRUE(kernel.ok());
    const Diags diags = ir::verify(*kernel);
    ASSERT_TRUE(diags.empty()) << render(diags);
  }
}

// A bias per column is the same for all rows: where rows are walked innermost it stays in registers all
// through the reductions.
TEST(Lower, EpilogueOperandsThatStayTheSameTakeRegisters) {
  const Result<ir::Graph> g = ir::parse_graph(R"(schema: assay/graph/1
name: biased
inputs: {a: f32 64x32, b: f32 32x64, bias: f32 64}
nodes:
  - {op: matmul, out: "c[m, n]", axes: {m: 64, n: 64, k: 32}, body: "a[m, k] * b[k, n]"}
  - {op: bias, out: "y[m, n]", axes: {m: 64, n: 64}, body: "c[m, n] + bias[n]"}
outputs: [y]
)", "biased.yaml");
  ASSERT_TRUE(g.ok()) << render(g.diags());
  ir::Program p;
  p.name = "biased";
  p.graph = *g;
  for (const ir::Tensor& t : g->tensors) p.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  p.edges = {{0, 1, "registers"}};
  p.tiles = {{"l1", {64, 64, 32}, {0, 1}}, {"registers", {4, 32, 1}, {0, 1, 2}}};
  p.vector_axis = 1;
  p.vector_width = 16;
  ASSERT_EQ(render(ir::verify(p)), "");
  EXPECT_EQ(lower::hoisted_vectors(p), 0);
  p.tiles.back().order = {1, 0, 2};
  EXPECT_EQ(lower::hoisted_vectors(p), 2);
}

}  // namespace
}  // namespace assay::test
