// Reductions in lanes and in parts keep their values.
#include "compiler/passes/split_reductions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/passes/fold.h"
#include "tests/compiler/graph_builder.h"

namespace assay::test {
namespace {

// Rows of 64 elements, reduced by vectors of 8.
TEST(SplitReductions, IntoLanesAndASumOfTheLanes) {
  std::mt19937 rng(5);
  Builder b;
  const int x = b.input({5, 7, 64});
  b.g.outputs = {b.unary(ir::ScalarOp::tanh, b.reduce(ir::Combiner::sum, x)),
                 b.reduce(ir::Combiner::max, x)};
  ir::Node& sum = b.g.nodes[0];  // of x - y[row]
  const int y = b.input({5, 7});
  sum.reads.push_back(Builder::at(y, {ir::variable(0), ir::variable(1)}));
  sum.body = ir::apply(ir::ScalarOp::sub, {ir::read(0), ir::read(1)});
  const ir::Graph split = compiler::split_reductions(b.g, 8);
  ASSERT_EQ(render(ir::verify(split)), "");
  ASSERT_EQ(split.nodes.size(), 5U);
  const ir::Node& lanes = split.nodes[0];
  EXPECT_EQ(split.tensors[static_cast<size_t>(lanes.output)].shape.back(), 8);
  const int lane = ir::spatial_count(split, lanes) - 1;
  EXPECT_EQ(ir::stride_of(lanes.reads[0].index.back(), lane), 1);
  EXPECT_EQ(ir::stride_of(lanes.reads[0].index.back(), lane + 1), 8);
  const std::vector<Floats> inputs{random_floats(rng, 5 * 7 * 64), random_floats(rng, 5 * 7)};
  expect_same_values(b.g, split, inputs);
  check(b.g, rng);
}

// Rows of any length. Waves mask lanes beyond the end of a row with the identity; vectors leave the
// last elements, of which they hold fewer than lanes, to a reduction of their own.
TEST(SplitReductions, RaggedRows) {
  std::mt19937 rng(7);
  Builder b;
  const int x = b.input({3, 45}), y = b.input({3});
  b.g.outputs = {b.reduce(ir::Combiner::sum, x), b.reduce(ir::Combiner::min, x)};
  ir::Node& sum = b.g.nodes[0];  // of 1 / (x - y[row])
  sum.reads.push_back(Builder::at(y, {ir::variable(0)}));
  sum.body = ir::apply(ir::ScalarOp::div,
                       {ir::number(1), ir::apply(ir::ScalarOp::sub, {ir::read(0), ir::read(1)})});
  const std::vector<Floats> inputs{random_floats(rng, 3 * 45), random_floats(rng, 3)};
  for (const bool masked : {false, true}) {
    const ir::Graph split = compiler::split_reductions(b.g, 8, masked);
    ASSERT_EQ(render(ir::verify(split)), "");
    ASSERT_EQ(split.nodes.size(), masked ? 4U : 8U);
    expect_same_values(b.g, split, inputs);
  }
  const ir::Graph split = compiler::split_reductions(b.g, 8);
  EXPECT_EQ(split.nodes[0].axes.back().extent, 5) << "40 of 45 elements in vectors";
  EXPECT_EQ(split.nodes[2].axes.back().extent, 5) << "and the rest one by one";
  check(b.g, rng);
}

TEST(SplitReductions, ProductsWithReuseOnlyWhereTheModelSaysSo) {
  Builder b;  // a times the transpose of c: both are contiguous along the sum
  const int a = b.input({16, 64}), c = b.input({24, 64});
  b.g.outputs = {b.node("matmul", {16, 24}, {64},
                        {Builder::at(a, {ir::variable(0), ir::variable(2)}),
                         Builder::at(c, {ir::variable(1), ir::variable(2)})},
                        ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}),
                        ir::Combiner::sum)};
  for (const bool faster : {false, true}) {
    int asked = 0;
    const ir::Graph split = compiler::split_reductions(
        b.g, 8, false, [&](const compiler::LaidOut&, const compiler::LaidOut&) {
          ++asked;
          return faster;
        });
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(split.nodes.size(), faster ? 2U : 1U);
  }
}

// The value of `s` in f32, as kernels compute it, at the point `at` and with every read `read`.
float in_f32(const ir::Scalar& s, const std::vector<int64_t>& at, float read) {
  const auto arg = [&](size_t i) { return in_f32(s.args[i], at, read); };
  switch (s.op) {
    case ir::ScalarOp::read:
      return read;
    case ir::ScalarOp::constant:
      return static_cast<float>(s.value);
    case ir::ScalarOp::axis:
      return static_cast<float>(at[static_cast<size_t>(s.operand)]);
    case ir::ScalarOp::add:
      return arg(0) + arg(1);
    case ir::ScalarOp::mul:
      return arg(0) * arg(1);
    case ir::ScalarOp::less:
      return arg(0) < arg(1) ? 1 : 0;
    case ir::ScalarOp::select:
      return arg(0) != 0 ? arg(1) : arg(2);
    default:
      ADD_FAILURE() << "an operation that this test does not know";
      return 0;
  }
}

// The end of a row with more elements than f32 has consecutive integers.
TEST(SplitReductions, RowsBeyondTheIntegersOfF32AreMaskedExactly) {
  constexpr int64_t kExtent = (int64_t{1} << 24) + 5, kWidth = 32;
  Builder b;
  b.g.outputs = {b.reduce(ir::Combiner::sum, b.input({1, kExtent}))};
  const ir::Graph split = compiler::split_reductions(b.g, kWidth, true);
  ASSERT_EQ(split.nodes.size(), 2U);
  const ir::Node& lanes = split.nodes[0];
  ASSERT_EQ(lanes.axes.back().extent, kExtent / kWidth + 1);
  for (int64_t element = kExtent - 2 * kWidth; element < (kExtent / kWidth + 1) * kWidth;
       ++element) {
    std::vector<int64_t> at(lanes.axes.size(), 0);
    at[at.size() - 2] = element % kWidth;
    at.back() = element / kWidth;
    EXPECT_EQ(in_f32(lanes.body, at, 3), element < kExtent ? 3 : 0) << element << " of " << kExtent;
  }
}

TEST(SplitReductions, LongSumsOfFewResultsInParts) {
  std::mt19937 rng(10);
  Builder b;
  const int a = b.input({3, 640}), c = b.input({640, 5});
  b.g.outputs = {b.unary(ir::ScalarOp::tanh, b.matmul(a, c))};
  compiler::LaidOut laid;
  laid.graph = b.g;
  for (const ir::Tensor& t : b.g.tensors)
    laid.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  const auto always = [](const compiler::LaidOut& now, const compiler::LaidOut& then) {
    return now.graph.nodes.size() == 1 && then.graph.nodes.size() == 2;
  };
  const auto never = [](const compiler::LaidOut&, const compiler::LaidOut&) { return false; };
  EXPECT_EQ(compiler::split_long_sums(laid, 15, always).graph, b.g)
      << "enough results without splitting";
  EXPECT_EQ(compiler::split_long_sums(laid, 7 * 15, never).graph, b.g)
      << "the model says it is slower";
  const compiler::LaidOut made = compiler::split_long_sums(laid, 7 * 15, always);
  const ir::Graph& split = made.graph;
  ASSERT_EQ(render(ir::verify(split)), "");
  ASSERT_EQ(made.layouts.size(), split.tensors.size());
  ASSERT_EQ(split.nodes.size(), b.g.nodes.size() + 1);
  EXPECT_EQ(split.nodes[0].axes[0].extent, 5) << "seven do not divide 640";
  EXPECT_EQ(compiler::split_long_sums(laid, 1e9, always).graph.nodes[0].axes[0].extent, 10)
      << "parts of 64 at least";
  const std::vector<Floats> inputs{random_floats(rng, 3 * 640), random_floats(rng, 640 * 5)};
  expect_same_values(b.g, split, inputs);
}

TEST(SplitReductions, NotProductsWithReuseOnWaves) {
  std::mt19937 rng(9);
  Builder b;
  const int a = b.input({16, 64}), c = b.input({24, 64});
  b.g.outputs = {b.matmul(a, b.transpose(c, {1, 0}))};
  const ir::Graph g = compiler::fold(b.g);
  EXPECT_EQ(compiler::split_reductions(g, 8, true).nodes.size(), g.nodes.size());
}

TEST(SplitReductions, NotConstantsOrShortRows) {
  std::mt19937 rng(6);
  Builder b;
  const int x = b.input({32, 64}), few = b.input({16, 31});
  b.g.outputs = {b.matmul(x, b.weights({64, 32}, rng)), b.reduce(ir::Combiner::sum, few),
                 b.reduce(ir::Combiner::sum, b.transpose(x, {1, 0})),
                 b.matmul(x, b.transpose(b.weights({32, 64}, rng), {1, 0}))};
  EXPECT_EQ(compiler::split_reductions(b.g, 8).nodes.size(), b.g.nodes.size() + 1)
      << "only the reduction of the transpose's output";
  EXPECT_EQ(compiler::split_reductions(b.g, 1), b.g);
}

}  // namespace
}  // namespace assay::test
