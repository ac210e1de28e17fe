// Lower bounds of programs, and that construction does not depend on who calls its estimates.
#include "compiler/search/candidate_times.h"

#include <gtest/gtest.h>

#include <random>

#include "simulator/range.h"
#include "tests/lower/problems.h"

namespace assay::compiler {
namespace {

// Every program of random problems takes its bound at least.
void expect_bounds(const hwdesc::Target& target, int width) {
  const model::Machine m = *model::prepare(target);
  int seen = 0, close = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 rng(seed);
    const Problem problem = test::random_problem(rng, width);
    const std::vector<simulator::Range> anywhere(problem.graph.tensors.size());
    const ForEach one_by_one;
    const CandidateTimes times(problem, m, {}, anywhere, one_by_one);
    for (int i = 0; i < 5; ++i) {
      const Bounded b = times.bound(test::random_program(problem, target, rng));
      const double seconds = times.estimate(b).seconds;
      EXPECT_LE(b.least, seconds * (1 + 1e-9)) << seed << ir::print_program(b.program);
      ++seen;
      close += b.least > 0.5 * seconds ? 1 : 0;
    }
  }
  EXPECT_EQ(seen, 300);
  EXPECT_GT(close, 20) << "a bound of nothing leaves no program out";
}

TEST(CandidateTimes, CoresTakeTheirBoundAtLeast) { expect_bounds(test::small_cpu(8, 2), 8); }
TEST(CandidateTimes, ThreadsTakeTheirBoundAtLeast) { expect_bounds(test::small_gpu(8), 8); }

TEST(CandidateTimes, TheChoiceIsTheSameInAnyOrder) {
  const ForEach backwards = [](size_t n, const std::function<void(size_t)>& f) {
    while (n > 0) f(--n);
  };
  for (const hwdesc::Target& target : {test::small_cpu(8, 2), test::small_gpu(8)}) {
    const model::Machine m = *model::prepare(target);
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::mt19937 rng(seed);
      const Problem problem = test::random_problem(rng, 8);
      const auto one = construct(problem, target, m, {}, {}, 3),
                 other = construct(problem, target, m, {}, {}, 3, backwards);
      ASSERT_TRUE(one.ok() && other.ok());
      EXPECT_EQ(one->evaluated, other->evaluated);
      EXPECT_EQ(one->pruned, other->pruned);
      ASSERT_EQ(one->best.size(), other->best.size());
      for (size_t i = 0; i < one->best.size(); ++i)
        EXPECT_EQ(ir::print_program(one->best[i].program),
                  ir::print_program(other->best[i].program));
    }
  }
}

// What no bound excludes is estimated: the fastest is that of all programs.
TEST(CandidateTimes, TheFastestIsThatOfAllPrograms) {
  const hwdesc::Target target = test::small_cpu(8, 2);
  const model::Machine m = *model::prepare(target);
  int64_t left_out = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 rng(seed);
    const Problem problem = test::random_problem(rng, 8);
    const auto few = construct(problem, target, m, {}, {}, 1),
               all = construct(problem, target, m, {}, {}, 1 << 20);
    ASSERT_TRUE(few.ok() && all.ok());
    double least = all->best.front().estimate.seconds;
    for (const Candidate& c : all->best) least = std::min(least, c.estimate.seconds);
    EXPECT_LE(few->best.front().estimate.seconds, 1.015 * least) << seed;
    left_out += all->evaluated - few->evaluated;
  }
  EXPECT_GT(left_out, 0);
}

}  // namespace
}  // namespace assay::compiler
