// Convolutions whose filters fill no vector, in groups or because they are few: layouts, programs
// and values.
#include <gtest/gtest.h>

#include <random>

#include "compiler/passes/choose_layouts.h"
#include "compiler/passes/unblock_narrow.h"
#include "tests/compiler/graph_builder.h"

namespace assay::test {
namespace {

constexpr int kLanes = 8;

// y[n, o, i, j] = sum(c, r) x[n, channels*(o/filters) + c, i + r, j] w[o, c, r]
int convolution(Builder& b, int x, int64_t groups, int64_t filters, int64_t taps,
                std::mt19937& rng) {
  const Shape from = b.shape(x);
  const int64_t channels = from[1] / groups;
  const int w = b.weights({groups * filters, channels, taps}, rng);
  const ir::Index group{{ir::Term{channels, 1, {}, filters, 0}}, 0};
  return b.node(
      "conv", {from[0], groups * filters, from[2] - taps + 1, from[3]}, {channels, taps},
      {Builder::at(x, {ir::variable(0), (groups > 1 ? group : ir::Index{}) + ir::variable(4),
                       ir::variable(2) + ir::variable(5), ir::variable(3)}),
       Builder::at(w, {ir::variable(1), ir::variable(4), ir::variable(5)})},
      ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}), ir::Combiner::sum);
}

bool is_blocked(const compiler::LaidOut& laid, int tensor) {
  return laid.layouts[static_cast<size_t>(tensor)] !=
         ir::row_major(
             static_cast<int>(laid.graph.tensors[static_cast<size_t>(tensor)].shape.size()));
}

// A bottleneck: 1x1 to 16 channels, tanh, 3x1 in groups, tanh, 1x1.
struct Bottleneck {
  Builder b;
  int wide = 0, grouped = 0;

  Bottleneck(int64_t groups, std::mt19937& rng) {
    const int x = b.input({1, 16, 9, 24});
    const int first = convolution(b, x, 1, 16, 1, rng);
    wide = b.unary(ir::ScalarOp::tanh, first);
    grouped = convolution(b, wide, groups, 16 / groups, 3, rng);
    const int mid = b.unary(ir::ScalarOp::tanh, grouped);
    b.g.outputs = {convolution(b, mid, 1, 16, 1, rng)};
  }
};

TEST(UnblockNarrow, ChangesTheImagesOnBothSidesThroughElementwiseNodes) {
  std::mt19937 rng(1);
  const Bottleneck of4(4, rng);
  const compiler::LaidOut laid = compiler::choose_layouts(of4.b.g, kLanes, false);
  ASSERT_TRUE(is_blocked(laid, of4.wide) && is_blocked(laid, of4.grouped));
  for (const bool faster : {false, true}) {
    const compiler::LaidOut out = compiler::unblock_narrow_images(
        laid, kLanes, [&](const compiler::LaidOut&, const compiler::LaidOut&) { return faster; });
    EXPECT_EQ(out.graph, laid.graph);
    for (const int t : {of4.wide, of4.grouped}) EXPECT_EQ(is_blocked(out, t), !faster);
    const int first = of4.b.g.nodes[0].output;
    EXPECT_EQ(is_blocked(out, first), !faster) << "the convolution before the tanh";
  }
}

TEST(UnblockNarrow, AsksAboutTheNodesAroundTheImage) {
  std::mt19937 rng(2);
  const Bottleneck of4(4, rng);
  const compiler::LaidOut laid = compiler::choose_layouts(of4.b.g, kLanes, false);
  std::vector<size_t> asked;
  compiler::unblock_narrow_images(laid, kLanes,
                                  [&](const compiler::LaidOut& now, const compiler::LaidOut& then) {
                                    EXPECT_EQ(now.graph, then.graph);
                                    EXPECT_NE(now.layouts, then.layouts);
                                    asked.push_back(now.graph.nodes.size());
                                    return false;
                                  });
  // All five nodes for both images; two convolutions and a tanh for one of them.
  EXPECT_EQ(asked, (std::vector<size_t>{5, 3, 3}));
}

TEST(UnblockNarrow, LeavesGroupsOfWholeVectorsAlone) {
  std::mt19937 rng(3);
  const Bottleneck of2(2, rng);  // 8 filters each
  const compiler::LaidOut laid = compiler::choose_layouts(of2.b.g, kLanes, false);
  const compiler::LaidOut out = compiler::unblock_narrow_images(
      laid, kLanes, [](const compiler::LaidOut&, const compiler::LaidOut&) { return true; });
  EXPECT_EQ(out.layouts, laid.layouts);
}

TEST(NarrowConvolutions, HaveTheValuesOfTheirExpressions) {
  std::mt19937 rng(4);
  for (const int64_t groups : {1, 2, 4, 16}) {
    Bottleneck net(groups, rng);
    check(net.b.g, rng, kLanes);
  }
  for (const int64_t filters : {1, 3, 5, 7, 9}) {
    Builder b;
    b.g.outputs = {convolution(b, b.input({2, 16, 5, 13}), 1, filters, 3, rng)};
    check(b.g, rng, kLanes);
    Builder grouped;  // groups of a prime number of filters
    grouped.g.outputs = {convolution(grouped, grouped.input({1, 6, 5, 13}), 3, filters, 3, rng)};
    check(grouped.g, rng, kLanes);
  }
}

double predicted(const ir::Graph& g) {
  const auto c = compiler::compile(g, small_cpu(kLanes, 2), {});
  EXPECT_TRUE(c.ok()) << render(c.diags());
  return c.ok() ? c->total.seconds : 0;
}

// Fewer multiply-adds of the same image take no longer.
TEST(NarrowConvolutions, AreNotSlowerThanWideOnes) {
  std::mt19937 rng(5);
  const auto seconds = [&](int64_t groups, int64_t filters) {
    Builder b;
    b.g.outputs = {convolution(b, b.input({1, 32, 30, 48}), groups, filters, 3, rng)};
    return predicted(b.g);
  };
  const double whole = seconds(1, 32), narrow = seconds(1, 16);
  for (const int64_t groups : {2, 4, 8}) EXPECT_LT(seconds(groups, 32 / groups), whole) << groups;
  for (const int64_t filters : {1, 4, 7, 9, 12}) EXPECT_LT(seconds(1, filters), 1.05 * narrow);
}

// Lanes along channels copy whole vectors of one of the two images. Of both orders
// one is joined in place.
TEST(Concat, OfWholeVectorsOfChannelsIsCopiedInVectors) {
  std::mt19937 rng(6);
  Builder b;
  const int x = b.input({1, 16, 6, 10});
  const int left = convolution(b, x, 1, 16, 1, rng), right = convolution(b, x, 1, 16, 1, rng);
  b.g.outputs = {convolution(b, b.concat(left, right, 1), 1, 16, 1, rng),
                 convolution(b, b.concat(right, left, 1), 1, 16, 1, rng)};
  const ir::Plan plan = check(b.g, rng, kLanes);
  int found = 0;
  for (const ir::Step& s : plan.steps) {
    const ir::Program& p = plan.programs[static_cast<size_t>(s.program)];
    if (p.graph.nodes[0].op != "concat") continue;
    ++found;
    EXPECT_EQ(p.vector_width, kLanes);
    EXPECT_EQ(p.vector_axis, 1);
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace assay::test
