// Scans, scatters, sorts and tuple reductions: loop kernels against the float64 reference, counts,
// limits.
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/one_lane.h"
#include "compiler/compile.h"
#include "lower/count.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "lower/nest.h"
#include "model/closed_form.h"
#include "simulator/estimate.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

constexpr int kPrograms = 600;

TEST(LowerKinds, RandomProgramsComputeWhatTheReferenceComputes) {
  std::mt19937 rng(3);
  std::array<int, 5> seen{};
  int vectors = 0, shared = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const int width = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
    const hwdesc::Target target = i % 2 == 0 ? small_cpu(width, 1 + i % 3) : small_gpu(width);
    const ir::Program p = random_program(random_kind_problem(rng), target, rng);
    const Comparison c = compare(p, target, rng);
    ASSERT_EQ(c.fault, "") << "program " << i << "\n" << ir::print_program(p);
    ASSERT_LT(c.difference, 1e-4) << "program " << i << "\n" << ir::print_program(p);
    ++seen[p.graph.nodes[0].kind.index()];
    vectors += p.vector_width > 1;
    shared += lower::shared_state(p) > 0;
  }
  for (size_t kind = 1; kind < seen.size(); ++kind) EXPECT_GT(seen[kind], kPrograms / 6);
  EXPECT_GT(vectors, kPrograms / 6);
  EXPECT_GT(shared, kPrograms / 40);
}

TEST(LowerKinds, ClosedFormEqualsCountOnRandomPrograms) {
  std::mt19937 rng(4);
  for (int i = 0; i < kPrograms; ++i) {
    const hwdesc::Target target = i % 2 == 0 ? small_cpu(8, 2) : small_gpu(8);
    const ir::Program p = random_program(random_kind_problem(rng), target, rng);
    const Result<ir::Kernel> kernel = lower::lower(p, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    EXPECT_EQ(lower::count(*kernel), model::closed_form(p)) << ir::print_program(p);
  }
}

// What must come from far memory and go back there bounds the time.
TEST(LowerKinds, EstimatesAreNeverBelowCompulsoryTraffic) {
  std::mt19937 rng(5);
  for (int i = 0; i < 200; ++i) {
    const hwdesc::Target target = small_cpu(8, 1);
    const model::Machine m = *model::prepare(target);
    const ir::Program p = random_program(random_kind_problem(rng), target, rng);
    double read = 0;
    for (const int t : p.graph.inputs)
      read += 4.0 * static_cast<double>(ir::elements(p.graph.tensors[static_cast<size_t>(t)]));
    const model::Estimate e = simulator::estimate(
        p, m, {}, std::vector<simulator::Range>(p.graph.tensors.size()), nullptr);
    EXPECT_GE(e.levels.back().read_bytes, 0.999 * read) << ir::print_program(p);
    EXPECT_GE(e.seconds, read / 8 / 3e9) << ir::print_program(p);  // 8 B a cycle at 3 GHz
  }
}

ir::Program scalar_program(const std::string& node) {
  const Result<ir::Graph> g =
      ir::parse_graph("schema: assay/graph/1\nname: kind\n" + node + "outputs: [y]\n", "kind.yaml");
  if (!g.ok()) throw std::runtime_error(render(g.diags()));
  compiler::Problem problem;
  problem.graph = *g;
  problem.packable.assign(g->tensors.size(), false);
  for (const ir::Tensor& t : g->tensors)
    problem.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  const model::Machine m = *model::prepare(small_cpu(8, 1));
  const compiler::Space space(problem, m);
  return compiler::build(space, compiler::scalar_choice(space));
}

ir::Program cum_sum(int64_t n) {
  const std::string e = std::to_string(n);
  return scalar_program("inputs: {x: f32 " + e + "}\nnodes:\n  - {op: cum_sum, out: \"y[s]\", " +
                        "axes: {s: " + e + "}, scan: {axis: s}, body: \"x[s]\"}\n");
}

TEST(LowerKinds, ScansAreLinear) {
  for (const int64_t n : {512, 1024, 2048}) {
    const lower::Counts c = model::closed_form(cum_sum(n));
    const auto steps = static_cast<double>(n);
    EXPECT_EQ(c.simple, steps);
    EXPECT_EQ(c.iterations, steps);
    EXPECT_EQ(c.buffers[0].splats, steps);
    EXPECT_EQ(c.buffers[1].vector_stores, steps);
  }
}

ir::Program sort(int64_t wanted, int64_t n) {
  const std::string k = std::to_string(wanted), e = std::to_string(n);
  return scalar_program("inputs: {x: f32 " + e + "}\nnodes:\n  - {op: top_k, out: \"y[k]\", " +
                        "axes: {k: " + k + ", t: " + e + "}, sort: {axis: k}, body: \"x[t]\"}\n");
}

// Batcher's network for 2^m elements has (m^2 - m + 4) 2^(m - 2) - 1 compare-exchanges.
double exchanges_of(int m) { return (m * m - m + 4) * std::pow(2, m - 2) - 1; }

TEST(LowerKinds, SortsMakeAsManyExchangesAsTheNetworkHas) {
  for (const int m : {3, 6, 10}) {
    const int64_t n = int64_t{1} << m;
    const lower::Counts c = model::closed_form(sort(n, n));
    EXPECT_EQ(c.buffers[2].splats, 2 * exchanges_of(m));
    EXPECT_EQ(c.buffers[3].vector_stores, 2 * exchanges_of(m) + std::pow(2, m));
  }
}

// The first 5 of 1024: 128 blocks of 8, each sorted and merged by 8 + 4 log2(8) exchanges.
TEST(LowerKinds, AFewOfManyAreSortedBlockByBlock) {
  const lower::Counts c = model::closed_form(sort(5, 1024));
  EXPECT_EQ(c.buffers[2].splats, 2 * 128 * (exchanges_of(3) + 8 + 12));
  EXPECT_EQ(c.buffers[0].splats, 1024);
  EXPECT_EQ(lower::sort_plan(sort(5, 1024)).elements, 16);
  EXPECT_EQ(lower::sort_plan(sort(257, 1024)).elements, 1024);
}

// Each lane sorts a row of its own, so threads wait for no other.
TEST(LowerKinds, LanesSortWithoutBarriers) {
  std::mt19937 rng(7);
  int sorts = 0;
  while (sorts < 10) {
    const hwdesc::Target target = small_gpu(8);
    const ir::Program p = random_program(random_kind_problem(rng), target, rng);
    if (!std::holds_alternative<ir::Sort>(p.graph.nodes[0].kind)) continue;
    const Result<ir::Kernel> kernel = lower::lower(p, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    const Result<ir::Kernel> threads = codegen::one_lane(*kernel, 8);
    ASSERT_TRUE(threads.ok()) << render(threads.diags());
    const std::string text = ir::print_kernel(*threads);
    EXPECT_NE(text.find("scratch by lane keys"), std::string::npos) << text;
    EXPECT_EQ(text.find("barrier"), std::string::npos) << text;
    ++sorts;
  }
}

TEST(LowerKinds, ScratchBeyondTheLimitIsRefused) {
  hwdesc::Target target = small_cpu(8, 1);
  target.api.limits.group_memory.value = hwdesc::Bytes{4096};
  EXPECT_TRUE(lower::legal(sort(512, 512), target).empty());
  EXPECT_NE(render(lower::legal(sort(513, 513), target))
                .find("sorting in 4104 B of scratch exceeds the 4096 B of group memory"),
            std::string::npos);
}

TEST(LowerKinds, DriversThatEndLongLoopsRefuseLongScans) {
  hwdesc::Target target = small_cpu(8, 1);
  target.api.limits.iterations.value = hwdesc::Count{1000};
  EXPECT_TRUE(lower::legal(cum_sum(1000), target).empty());
  EXPECT_NE(render(lower::legal(cum_sum(1001), target)).find("a loop of 1001 iterations"),
            std::string::npos);
}

TEST(LowerKinds, WhatAKindCanNotDoIsRefused) {
  const hwdesc::Target target = small_cpu(8, 1);
  ir::Program p = cum_sum(8);
  p.prefetch = 16;
  EXPECT_NE(render(lower::legal(p, target)).find("prefetches nothing"), std::string::npos);
  p = cum_sum(8);
  p.staging.push_back({0, 0, ir::row_major(1)});
  EXPECT_NE(render(lower::legal(p, target)).find("stages no operand"), std::string::npos);
}

}  // namespace
}  // namespace assay::test
