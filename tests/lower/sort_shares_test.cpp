// Sorts of one row whose terms the lanes of a vector share: values, counts, limits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "codegen/interpret.h"
#include "lower/count.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "lower/nest.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

// The order of the first `wanted` of `n` terms in each of two columns, lanes along the order.
ir::Program shared_sort(int64_t wanted, int64_t n, int width, bool descending) {
  const std::string k = std::to_string(wanted), e = std::to_string(n);
  const Result<ir::Graph> g =
      ir::parse_graph("schema: assay/graph/1\nname: kind\ninputs: {x: f32 " + e + "x2}\nnodes:\n" +
                          "  - {op: top_k, out: \"y[k, c]\", axes: {k: " + k + ", c: 2, t: " + e +
                          "}, sort: {axis: k" + (descending ? ", order: descending" : "") +
                          "}, body: \"x[t, c]\"}\noutputs: [y]\n",
                      "kind.yaml");
  if (!g.ok()) throw std::runtime_error(render(g.diags()));
  compiler::Problem problem;
  problem.graph = *g;
  problem.packable.assign(2, false);
  problem.layouts.assign(2, ir::row_major(2));
  const model::Machine m = *model::prepare(small_cpu(width, 1));
  const compiler::Space space(problem, m);
  compiler::Choice c = compiler::unit_choice(space);
  c.vector_axis = 0;
  c.vector_width = width;
  return compiler::build(space, c);
}

// Of one column of two, by the definition: ties go to the lower position, NaN is infinity.
std::vector<float> positions(const std::vector<float>& x, size_t column, bool descending) {
  std::vector<float> out(x.size() / 2);
  std::iota(out.begin(), out.end(), 0.0F);
  const auto key = [&](float i) {
    const float v = x[2 * static_cast<size_t>(i) + column];
    return std::isnan(v) ? std::numeric_limits<float>::infinity() : v;
  };
  std::stable_sort(out.begin(), out.end(), [&](float a, float b) {
    return descending ? key(a) > key(b) : key(a) < key(b);
  });
  return out;
}

std::vector<float> terms(int64_t n, std::mt19937& rng) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x(static_cast<size_t>(2 * n));
  for (float& v : x) {
    v = static_cast<float>(rng() % 41) / 8 - 2;  // many are equal
    if (const auto special = rng() % 12; special < 3)
      v = special == 0 ? inf : special == 1 ? -inf : std::nanf("");
  }
  return x;
}

// Fewer terms than lanes keep, one more, partial last vectors, blocks with a rest, whole blocks.
TEST(SortShares, GiveTheOrderOfTheWholeRow) {
  std::mt19937 rng(1);
  for (const auto& [wanted, n] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 8}, {1, 37}, {3, 9}, {5, 64}, {17, 17}, {33, 100}, {5, 257}, {2, 128}, {100, 131}})
    for (const int width : {2, 4, 8})
      for (const bool descending : {false, true}) {
        SCOPED_TRACE(fmt::format("{} of {}, {} lanes", wanted, n, width));
        const hwdesc::Target target = small_cpu(width, 1);
        const ir::Program p = shared_sort(wanted, n, width, descending);
        ASSERT_EQ(render(lower::legal(p, target)), "");
        const Result<ir::Kernel> kernel = lower::lower(p, target);
        ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
        std::vector<std::vector<float>> buffers{
            terms(n, rng), std::vector<float>(static_cast<size_t>(2 * wanted), -1)};
        const std::vector<float> x = buffers[0];
        const auto ran = codegen::interpret(*kernel, buffers);
        ASSERT_TRUE(ran.ok()) << render(ran.diags());
        for (const size_t column : {0U, 1U}) {
          const std::vector<float> want = positions(x, column, descending);
          for (size_t i = 0; i < static_cast<size_t>(wanted); ++i)
            ASSERT_EQ(buffers[1][2 * i + column], want[i]) << "column " << column << ", " << i;
        }
      }
}

// The first 5 of 1024 by 8 lanes, in each of two columns: of 128 terms a lane 16 blocks of 8, each
// sorted by 19 exchanges and merged by 8 + 12; then lanes by as many, 3 times. Comparisons of two
// blocks or halves load two vectors of keys, other exchanges too.
TEST(SortShares, MergeTheLanesInHalves) {
  const ir::Program p = shared_sort(5, 1024, 8, false);
  const Result<ir::Kernel> kernel = lower::lower(p, small_cpu(8, 1));
  ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
  const lower::Counts c = lower::count(*kernel);
  EXPECT_EQ(c.buffers[2].vector_loads, 2 * 2 * (16 * (19 + 8 + 12) + 3 * (8 + 12)));
  EXPECT_EQ(lower::sort_plan(p).elements, 2 * 8 * 8);
  EXPECT_FALSE(kernel->buffers[2].by_lane) << "lanes read what others stored";
}

TEST(SortShares, ThreadsAndOddNumbersOfLanesAreRefused) {
  ir::Program p = shared_sort(5, 64, 8, false);
  EXPECT_NE(render(lower::legal(p, small_gpu(8))).find("which threads can not without barriers"),
            std::string::npos);
  p.vector_width = 6;
  EXPECT_NE(render(lower::legal(p, small_cpu(8, 1)))
                .find("6 lanes along the order of a sort are not merged in halves"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::test
