// Scans, scatters and sorts among other nodes: passes keep their values, layouts suit them, and no
// other node joins their programs.
#include <gtest/gtest.h>

#include "tests/compiler/graph_builder.h"

namespace assay::test {
namespace {

struct Draw {
  std::mt19937 rng;
  int64_t below(int64_t n) { return static_cast<int64_t>(rng() % static_cast<unsigned long>(n)); }
};

int scan(Builder& b, Draw& d, int x) {
  const Shape s = b.shape(x);
  const int y = b.node("scan", s, {}, {Builder::at(x, b.own(s.size()))}, ir::read(0),
                       d.below(2) == 0 ? ir::Combiner::sum : ir::Combiner::max);
  // Inclusive: the maximum of an empty prefix is infinite, and infinities may cancel.
  b.g.nodes.back().kind =
      ir::Scan{static_cast<int>(d.below(static_cast<int64_t>(s.size()))), false, d.below(2) == 0};
  return y;
}

// Rows along one axis, at positions of another input, some of them outside.
int scatter(Builder& b, Draw& d, int x) {
  const Shape s = b.shape(x);
  const auto a = static_cast<size_t>(d.below(static_cast<int64_t>(s.size())));
  const int64_t n = 1 + d.below(6);
  Shape terms = s;
  terms[a] = n;
  const int to = b.scaled(b.input({n}), static_cast<double>(s[a])), u = b.input(terms);
  std::vector<ir::Index> at = b.own(s.size());
  const ir::Index j = ir::variable(static_cast<int>(s.size()));
  at[a] = j;
  const int y =
      b.node("scatter", s, {n},
             {Builder::at(x, b.own(s.size())), Builder::at(to, {j}), Builder::at(u, std::move(at))},
             ir::read(2), d.below(2) == 0 ? ir::Combiner::none : ir::Combiner::sum);
  b.g.nodes.back().kind = ir::Scatter{0, {{static_cast<int>(a), 1}}};
  return y;
}

int sort(Builder& b, Draw& d, int x) {
  Shape s = b.shape(x);
  const auto a = static_cast<size_t>(d.below(static_cast<int64_t>(s.size())));
  const int64_t terms = s[a];
  std::vector<ir::Index> at = b.own(s.size());
  at[a] = ir::variable(static_cast<int>(s.size()));
  s[a] = 1 + d.below(terms);
  const int y = b.node("top_k", s, {terms}, {Builder::at(x, std::move(at))}, ir::read(0));
  b.g.nodes.back().kind = ir::Sort{static_cast<int>(a), d.below(2) == 0};
  return y;
}

// Nodes of one operand that passes move, fold or join.
int plain(Builder& b, Draw& d, int x) {
  const Shape s = b.shape(x);
  std::vector<int> order(s.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  switch (d.below(4)) {
    case 0:
      std::swap(order.front(), order.back());
      return b.transpose(x, order);
    case 1:
      return b.unary(ir::ScalarOp::neg, x);
    case 2:
      return b.scaled(x, 0.5);
    default:
      return x;
  }
}

ir::Graph random_graph(Draw& d) {
  Builder b;
  const Shape shapes[] = {{17, 5}, {3, 4, 19}, {1, 16, 3, 5}, {2, 20, 4, 4}, {31}};
  int x = plain(b, d, b.input(shapes[d.below(5)]));
  if (b.shape(x).size() == 4 && d.below(2) == 0)  // an image, whose layout is blocked
    x = b.unary(ir::ScalarOp::abs, x);
  const int64_t kind = d.below(3);
  int y = kind == 0 ? scan(b, d, x) : kind == 1 ? scatter(b, d, x) : sort(b, d, x);
  if (d.below(3) == 0 && b.shape(x) == b.shape(y)) y = b.binary(ir::ScalarOp::add, x, y);
  y = plain(b, d, plain(b, d, y));
  b.g.outputs = {y};
  if (d.below(3) == 0) b.g.outputs.push_back(b.reduce(ir::Combiner::sum, y));
  return b.g;
}

TEST(Kinds, RandomGraphsKeepTheirValues) {
  Draw d{std::mt19937(6)};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const ir::Plan plan = check(random_graph(d), d.rng, round % 2 == 0 ? 4 : 8);
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
