// Scans, scatters and sorts among other nodes: passes keep their values, layouts suit them, and no
// other node joins their programs.
#include <gtest/gtest.h>

#include "tests/compiler/kind_graphs.h"

namespace assay::test {
namespace {

TEST(Kinds, RandomGraphsKeepTheirValues) {
  Draw d{std::mt19937(6)};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const ir::Plan plan = check(graph_of_kinds(d), d.rng, round % 2 == 0 ? 4 : 8);
    if (testing::Test::HasFailure()) return;
    for (const ir::Program& p : plan.programs)
      for (const ir::Node& n : p.graph.nodes)
        if (!ir::is_expression(n)) {
          EXPECT_EQ(p.graph.nodes.size(), 1U);
        }
  }
}

// A scan of independent rows is shared out to both units, and its lanes are the rows.
TEST(Kinds, IndependentAxesAreLanesAndGroups) {
  Builder b;
  const int x = b.input({4096, 512});
  b.node("scan", {4096, 512}, {}, {Builder::at(x, b.own(2))}, ir::read(0), ir::Combiner::sum);
  b.g.nodes.back().kind = ir::Scan{0};
  b.g.outputs = {b.g.nodes.back().output};
  const auto c = compiler::compile(b.g, small_cpu(8, 2), {});
  ASSERT_TRUE(c.ok()) << render(c.diags());
  const ir::Program& p = c->plan.programs[0];
  EXPECT_EQ(p.vector_axis, 1);
  EXPECT_GE(ir::group_count(p), 2);
  EXPECT_EQ(p.tiles[0].extent[0], 4096);
}

// The first 20 of 2000 in each of `rows`.
double seconds_of_top(int64_t rows, int& lanes_along) {
  Builder b;
  const int x = b.input({rows, 2000});
  b.node("top_k", {rows, 20}, {2000}, {Builder::at(x, {ir::variable(0), ir::variable(2)})},
         ir::read(0));
  b.g.nodes.back().kind = ir::Sort{1, true};
  b.g.outputs = {b.g.nodes.back().output};
  const auto c = compiler::compile(b.g, small_cpu(8, 1), {});
  EXPECT_TRUE(c.ok()) << render(c.diags());
  if (!c.ok()) return 0;
  lanes_along = c->plan.programs.back().vector_axis;
  return c->total.seconds;
}

// A row for each lane where there are as many; else lanes share the terms of one row, so that one
// row takes an eighth of eight, and what merging the lanes takes.
TEST(Kinds, LanesShareTheTermsOfASingleRow) {
  int lanes_along = -1;
  const double eight = seconds_of_top(8, lanes_along);
  EXPECT_EQ(lanes_along, 0);
  const double one = seconds_of_top(1, lanes_along);
  EXPECT_EQ(lanes_along, 1);
  EXPECT_LT(one, 0.35 * eight);
}

}  // namespace
}  // namespace assay::test
