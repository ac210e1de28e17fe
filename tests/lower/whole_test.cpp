// Random programs over whole numbers: computed in i32, or in f32 beside other types, with results
// of any type.
#include <gtest/gtest.h>

#include "ir/computed_type.h"
#include "lower/count.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "model/closed_form.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

using D = ir::DType;

constexpr int kPrograms = 1000;

ir::Program random_whole(std::mt19937& rng, int i, hwdesc::Target& target) {
  const int width = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
  const bool waves = i % 4 == 3;
  target = waves ? small_gpu(width) : small_cpu(width, 1 + i % 3);
  compiler::Problem problem = random_problem(rng, width);
  give_whole_types(problem.graph, rng, i % 3 == 0);
  return waves ? random_wave_program(problem, target, rng) : random_program(problem, target, rng);
}

TEST(Whole, random_programs_compute_what_the_reference_computes) {
  std::mt19937 rng(31);
  int in_i32 = 0, converted = 0;
  for (int i = 0; i < kPrograms; ++i) {
    hwdesc::Target target;
    const ir::Program p = random_whole(rng, i, target);
    const Comparison c = compare(p, target, rng);
    ASSERT_EQ(c.fault, "") << "program " << i << "\n" << ir::print_program(p);
    ASSERT_LT(c.difference, 1e-4) << "program " << i << "\n" << ir::print_program(p);
    const bool first = ir::computed_in(p.graph, p.graph.nodes.front()) == D::i32,
               last = ir::computed_in(p.graph, p.graph.nodes.back()) == D::i32;
    in_i32 += first && last;
    converted += first && !last;
  }
  EXPECT_GT(in_i32, kPrograms / 8);
  EXPECT_GT(converted, kPrograms / 50);
}

TEST(Whole, closed_form_equals_count) {
  std::mt19937 rng(32);
  const auto text = [](const lower::Counts& c) {
    std::string out;
    for (const double n : {c.fma, c.simple, c.divide, c.math, c.loads(), c.stores()})
      out += std::to_string(n) + " ";
    return out;
  };
  for (int i = 0; i < kPrograms; ++i) {
    hwdesc::Target target;
    const ir::Program p = random_whole(rng, i, target);
    const Result<ir::Kernel> kernel = lower::lower(p, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    ASSERT_EQ(text(lower::count(*kernel)), text(model::closed_form(p)))
        << "program " << i << "\n"
        << ir::print_program(p) << ir::print_kernel(*kernel);
  }
}

// x[i] * y[i] in u8 is rounded in memory, not in registers: its sum with z is another program.
TEST(Whole, a_chain_over_a_rounded_value_is_refused) {
  std::mt19937 rng(33);
  const hwdesc::Target target = small_cpu(8, 1);
  for (int i = 0; i < 200; ++i) {
    compiler::Problem problem = random_problem(rng, 8);
    if (problem.graph.nodes.size() < 2) continue;
    ir::Program p = random_program(problem, target, rng);
    ASSERT_TRUE(lower::legal(p, target).empty());
    p.graph.tensors[static_cast<size_t>(p.graph.nodes[0].output)].dtype = D::u8;
    const Diags faults = lower::legal(p, target);
    ASSERT_FALSE(faults.empty());
    EXPECT_NE(render(faults).find("is rounded to u8, which registers are not"), std::string::npos)
        << render(faults);
    return;
  }
  FAIL() << "no problem had two nodes";
}

}  // namespace
}  // namespace assay::test
