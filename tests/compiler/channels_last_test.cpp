// Sums that slide along channels, as of a local response normalisation: layouts, programs, values.
#include "compiler/passes/channels_last.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/compiler/graph_builder.h"

namespace assay::test {
namespace {

constexpr int kLanes = 8;

// y[n, o, i, j] = sum(c) x[n, c, i, j] w[o, c]
int pointwise(Builder& b, int x, int64_t filters, std::mt19937& rng) {
  const Shape from = b.shape(x);
  const int w = b.weights({filters, from[1]}, rng);
  return b.node(
      "conv", {from[0], filters, from[2], from[3]}, {from[1]},
      {Builder::at(x, {ir::variable(0), ir::variable(4), ir::variable(2), ir::variable(3)}),
       Builder::at(w, {ir::variable(1), ir::variable(4)})},
      ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}), ir::Combiner::sum);
}

// y = sum(k) x^2 at k - before along dimension `dim`, 0 outside.
int window(Builder& b, int x, size_t dim, int64_t taps, int64_t before) {
  std::vector<ir::Index> at = b.own(4);
  at[dim] = std::move(at[dim]) + ir::variable(4) + -before;
  ir::Read r = Builder::at(x, std::move(at));
  r.guarded = true;
  return b.node("window", b.shape(x), {taps}, {std::move(r)},
                ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(0)}), ir::Combiner::sum);
}

// 1x1, x / (1 + sum of a window of x^2), 1x1.
struct Normalised {
  Builder b;
  int image = 0, sums = 0, result = 0;

  Normalised(Shape input, int64_t channels, size_t dim, int64_t taps, std::mt19937& rng) {
    image = pointwise(b, b.input(std::move(input)), channels, rng);
    sums = window(b, image, dim, taps, (taps - 1) / 2);
    result = b.node(
        "normalise", b.shape(image), {},
        {Builder::at(image, b.own(4)), Builder::at(sums, b.own(4))},
        ir::apply(ir::ScalarOp::div,
                  {ir::read(0), ir::apply(ir::ScalarOp::add, {ir::number(1), ir::read(1)})}));
    b.g.outputs = {pointwise(b, result, channels, rng)};
  }
};

std::string layout(const compiler::LaidOut& laid, int tensor) {
  return ir::print(laid.layouts[static_cast<size_t>(tensor)]);
}

TEST(ChannelsLast, TheImageUnderAWindowAlongChannelsIsAskedAboutAloneAndWithItsNeighbours) {
  std::mt19937 rng(1);
  const Normalised n({1, 16, 5, 6}, 24, 1, 5, rng);
  const compiler::LaidOut laid = compiler::choose_layouts(n.b.g, kLanes, false);
  const std::string blocked = "[0, 1/8, 2, 3, 1%8]";
  ASSERT_EQ(layout(laid, n.image), blocked);
  int asked = 0;
  const auto out = [&](int yes) {
    asked = 0;
    return compiler::move_channels_last(
        laid, kLanes, [&](const compiler::LaidOut& now, const compiler::LaidOut& then) {
          EXPECT_EQ(now.graph, then.graph);
          EXPECT_EQ(now.graph.nodes.size(), 4U);  // both products, the window, the quotient
          return asked++ == yes;
        });
  };
  const compiler::LaidOut never = out(-1), alone = out(0), all = out(1);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(never.layouts, laid.layouts);
  EXPECT_EQ(layout(alone, n.image), "[0, 2, 3, 1] pad 1:2,2");
  EXPECT_EQ(layout(alone, n.result), blocked);
  EXPECT_EQ(layout(all, n.image), "[0, 2, 3, 1] pad 1:2,2");
  EXPECT_EQ(layout(all, n.sums), "[0, 2, 3, 1]");
  EXPECT_EQ(layout(all, n.result), "[0, 2, 3, 1]");
}

TEST(ChannelsLast, OtherNodesAreNotAskedAbout) {
  std::mt19937 rng(2);
  Normalised rows({1, 16, 5, 6}, 24, 3, 5, rng);         // a window along a row
  const int x = rows.b.slice(rows.result, 1, 3, 1, 16);  // reads each element once
  rows.b.g.outputs = {pointwise(rows.b, x, 16, rng)};
  const compiler::LaidOut laid = compiler::choose_layouts(rows.b.g, kLanes, false);
  const compiler::LaidOut out = compiler::move_channels_last(
      laid, kLanes, [](const compiler::LaidOut&, const compiler::LaidOut&) {
        ADD_FAILURE() << "asked";
        return true;
      });
  EXPECT_EQ(out.layouts, laid.layouts);
}

TEST(ChannelsLast, WindowsHaveTheValuesOfTheirExpressions) {
  std::mt19937 rng(3);
  for (const int64_t channels : {8, 13, 24})
    for (const int64_t taps : {2, 5, 7}) {
      Normalised n({2, 16, 3, 9}, channels, 1, taps, rng);
      check(n.b.g, rng, kLanes);
    }
}

// A window of the same size and work, along channels, takes about as long as one along rows.
TEST(ChannelsLast, WindowsAlongChannelsHaveLanesAlongThem) {
  std::mt19937 rng(4);
  const auto compiled = [&](size_t dim) {
    const Normalised n({1, 32, 30, 48}, 64, dim, 5, rng);
    const auto c = compiler::compile(n.b.g, small_cpu(kLanes, 2), one_by_one());
    EXPECT_TRUE(c.ok()) << render(c.diags());
    return c.ok() ? *c : compiler::Compiled{};
  };
  const compiler::Compiled channels = compiled(1), rows = compiled(3);
  EXPECT_LT(channels.total.seconds, 1.3 * rows.total.seconds);
  int found = 0;
  for (const ir::Program& p : channels.plan.programs) {
    if (p.graph.nodes[0].op != "window") continue;
    ++found;
    EXPECT_EQ(p.vector_axis, 1);
    EXPECT_EQ(p.vector_width, kLanes);
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace assay::test
