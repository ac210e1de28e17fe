// Products of one tensor with several constants become one.
#include "compiler/passes/merge_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/compiler/graph_builder.h"
#include "tests/compiler/plan_runner.h"

namespace assay::test {
namespace {

struct Branches : Builder {
  std::mt19937 rng;
  explicit Branches(uint32_t seed) : rng(seed) {}

  // x[m, k] w[k, n], by its output.
  int product(int x, int64_t wide) { return matmul(x, weights({shape(x)[1], wide}, rng)); }
  int biased(int x) {
    const Shape to = shape(x);
    return node("add", to, {}, {at(x, own(2)), at(weights({to[1]}, rng), {ir::variable(1)})},
                ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)}));
  }
  int tanh(int x) { return unary(ir::ScalarOp::tanh, x); }
};

ir::Graph merged(const ir::Graph& g) {
  return compiler::merge_products(g, 8, [](const auto&, const auto&) { return true; });
}

int products_in(const ir::Graph& g) {
  int n = 0;
  for (const ir::Node& node : g.nodes) n += node.op == "matmul" ? 1 : 0;
  return n;
}

void expect_same(const ir::Graph& a, const ir::Graph& b, uint32_t seed) {
  ASSERT_EQ(render(ir::verify(b)), "");
  std::mt19937 rng(seed);
  std::vector<Floats> inputs;
  for (const int t : a.inputs)
    inputs.push_back(random_floats(rng, ir::elements(a.tensors[static_cast<size_t>(t)])));
  const auto want = ir::evaluate(a, inputs), got = ir::evaluate(b, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  for (size_t i = 0; i < a.outputs.size(); ++i)
    EXPECT_THAT((*got)[static_cast<size_t>(b.outputs[i])],
                ::testing::Pointwise(::testing::DoubleNear(1e-12),
                                     (*want)[static_cast<size_t>(a.outputs[i])]));
}

TEST(MergeProducts, OfOneTensorWithTheirBiases) {
  Branches b(1);
  const int x = b.input({5, 7});
  for (const int64_t wide : {3, 8, 1}) b.g.outputs.push_back(b.biased(b.product(x, wide)));
  const ir::Graph g = merged(b.g);
  EXPECT_EQ(products_in(g), 1);
  EXPECT_EQ(g.nodes.size(), 5U) << "a product, a bias, three parts";
  EXPECT_EQ(g.tensors[static_cast<size_t>(g.nodes[0].output)].shape, (std::vector<int64_t>{5, 12}));
  expect_same(b.g, g, 1);
}

// What differs behind the products stays behind their parts.
TEST(MergeProducts, UpToWhatDiffers) {
  Branches b(2);
  const int x = b.input({4, 6});
  const int p = b.product(x, 8), q = b.product(x, 8);
  b.g.outputs = {b.tanh(b.biased(p)), b.biased(q)};
  const ir::Graph g = merged(b.g);
  EXPECT_EQ(products_in(g), 1);
  expect_same(b.g, g, 2);
}

TEST(MergeProducts, NotOfOtherTensorsOrDepths) {
  Branches b(3);
  const int x = b.input({4, 6}), y = b.input({4, 6});
  b.g.outputs = {b.product(x, 8), b.product(y, 8)};
  EXPECT_EQ(merged(b.g), b.g);
  EXPECT_EQ(compiler::merge_products(b.g, 8, [](const auto&, const auto&) { return false; }), b.g);
}

// Random graphs of such branches, whose parts are read again.
TEST(MergeProducts, RandomBranchesKeepTheirValues) {
  int fewer = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 rng(seed);
    Branches b(seed);
    const int64_t rows = 1 + static_cast<int64_t>(rng() % 5),
                  deep = 1 + static_cast<int64_t>(rng() % 9);
    std::vector<int> from{b.input({rows, deep})};
    for (int i = 0; i < 6; ++i) {
      int out = b.product(from[rng() % from.size()], 1 + static_cast<int64_t>(rng() % 3) * 4);
      if (rng() % 2) out = b.biased(out);
      if (rng() % 3 == 0) out = b.tanh(out);
      from.push_back(out);
    }
    b.g.outputs.assign(from.begin() + 1, from.end());
    const ir::Graph g = merged(b.g);
    fewer += products_in(g) < products_in(b.g) ? 1 : 0;
    expect_same(b.g, g, seed);
  }
  EXPECT_GT(fewer, 30);
}

}  // namespace
}  // namespace assay::test
