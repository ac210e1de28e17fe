// Softmax and the sums behind it in blocks: which are found, values, special ones.
#include "compiler/passes/block_softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "tests/compiler/plan_runner.h"

namespace assay::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

ir::Graph graph(const std::string& text) {
  Result<ir::Graph> g = ir::parse_graph("schema: assay/graph/1\nname: g\n" + text, "g.yaml");
  if (!g.ok()) throw std::runtime_error(render(g.diags()) + text);
  return *g;
}

ir::Graph blocked(const ir::Graph& g, int64_t blocks) {
  return compiler::block_softmax(
      g, [&](int64_t, int64_t) { return std::vector<int64_t>{blocks}; },
      [](const ir::Graph& now, const ir::Graph& then) {
        EXPECT_EQ(render(ir::verify(now)), "");
        EXPECT_EQ(render(ir::verify(then)), "");
        return true;
      });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Two heads: scores with a mask, of rows that lie along the last dimension or the one before.
std::string attention(int64_t rows, int64_t length, bool transposed = false) {
  const std::string i = std::to_string(rows), j = std::to_string(length),
                    order = transposed ? "h, j, i" : "h, i, j",
                    axes =
                        transposed ? "h: 2, j: " + j + ", i: " + i : "h: 2, i: " + i + ", j: " + j;
  return "inputs: {q: f32 2x" + i + "x3, k: f32 2x" + j + "x3, v: f32 2x" + j + "x4, mask: f32 " +
         i + "x" + j + "}\nnodes:\n" +  //
         "  - {out: \"s[" + order + "]\", axes: {" + axes +
         ", c: 3}, body: \"q[h, i, c] * k[h, j, c]\"}\n" +  //
         "  - {out: \"m[h, i]\", axes: {h: 2, i: " + i + ", j: " + j +
         "}, combine: max, body: \"s[" + order + "] + mask[i, j]\"}\n" +  //
         "  - {out: \"p[" + order + "]\", axes: {" + axes + "}, body: \"exp(s[" + order +
         "] + mask[i, j] - m[h, i])\"}\n" +  //
         "  - {out: \"l[h, i]\", axes: {h: 2, i: " + i + ", j: " + j + "}, body: \"p[" + order +
         "]\"}\n" +  //
         "  - {out: \"a[h, i, d]\", axes: {h: 2, i: " + i + ", d: 4, j: " + j + "}, body: \"p[" +
         order + "] * v[h, j, d]\"}\n" +  //
         "  - {out: \"o[h, i, d]\", axes: {h: 2, i: " + i +
         ", d: 4}, body: \"a[h, i, d] / l[h, i]\"}\noutputs: [o]\n";
}

using Inputs = std::vector<std::vector<float>>;

Inputs random_inputs(const ir::Graph& g, uint32_t seed) {
  std::mt19937 rng(seed);
  Inputs out;
  for (const int t : g.inputs)
    out.push_back(random_floats(rng, ir::elements(g.tensors[static_cast<size_t>(t)])));
  return out;
}

std::vector<double> output(const ir::Graph& g, const Inputs& inputs) {
  const auto values = ir::evaluate(g, inputs);
  if (!values.ok()) throw std::runtime_error(render(values.diags()));
  return (*values)[static_cast<size_t>(g.outputs[0])];
}

void expect_same(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::isnan(a[i]), std::isnan(b[i])) << i << ": " << a[i] << " " << b[i];
    if (std::isnan(a[i])) continue;
    EXPECT_NEAR(a[i], b[i], 1e-12 * (1 + std::abs(a[i]))) << i;
  }
}

TEST(BlockSoftmax, HasTheValuesOfWholeRows) {
  for (const bool transposed : {false, true})
    for (const auto& [rows, length, blocks] :
         {std::tuple{5, 24, 3}, {1, 24, 24}, {7, 10, 2}, {1, 2, 2}}) {
      const ir::Graph g = graph(attention(rows, length, transposed)), b = blocked(g, blocks);
      ASSERT_EQ(render(ir::verify(b)), "") << ir::print_graph(b);
      EXPECT_EQ(b.nodes.size(), g.nodes.size() + 5) << "finite, of all, weights, two joins";
      const Inputs inputs = random_inputs(g, 7);
      expect_same(output(g, inputs), output(b, inputs));
    }
}

// Lowest finite numbers: with each block's own largest term, no exponential overflows.
TEST(BlockSoftmax, LargeTermsDoNotOverflow) {
  const ir::Graph g = graph(attention(3, 8)), b = blocked(g, 4);
  Inputs inputs = random_inputs(g, 8);
  for (size_t j = 0; j < 24; ++j) inputs[3][j] = j % 8 < 4 ? -3e38F : 500.0F * float(j % 3);
  expect_same(output(g, inputs), output(b, inputs));
}

TEST(BlockSoftmax, BlocksAndRowsThatAreMaskedWhole) {
  const ir::Graph g = graph(attention(3, 8)), b = blocked(g, 4);
  Inputs inputs = random_inputs(g, 9);
  for (size_t j = 0; j < 8; ++j) {
    inputs[3][j] = j < 6 ? -kInf : 0;  // three blocks of the first row
    inputs[3][8 + j] = -kInf;          // the second row
    inputs[3][16 + j] = j == 5 ? kInf : 0;
  }
  const std::vector<double> want = output(g, inputs);
  EXPECT_FALSE(std::isnan(want[0]));
  EXPECT_TRUE(std::isnan(want[4])) << "0 / 0";
  EXPECT_TRUE(std::isnan(want[8])) << "inf - inf";
  expect_same(want, output(b, inputs));
}

TEST(BlockSoftmax, IsNotFoundWhereRowsAreOfAnotherForm) {
  const std::string text = attention(5, 24);
  for (const std::string& other :
       {replaced(text, "outputs: [o]", "outputs: [o, p]"),  // exponentials are read elsewhere
        replaced(text, "outputs: [o]", "outputs: [o, m]"),  //
        replaced(text, "- m[h, i]", "- 2 * m[h, i]"),       // not the largest term
        replaced(text, "exp(s[h, i, j] + mask", "exp(s[h, i, j] - mask"),             // other terms
        replaced(text, "body: \"p[h, i, j]\"", "body: \"p[h, i, j] * p[h, i, j]\""),  // not linear
        replaced(text, "body: \"p[h, i, j]\"", "body: \"p[h, i, j] + 1\""),
        replaced(text, "\"p[h, i, j] * v", "\"p[h, i, 23 - j] * v")}) {
    const ir::Graph g = graph(other);
    EXPECT_EQ(blocked(g, 4).nodes.size(), g.nodes.size()) << other;
  }
  const ir::Graph g = graph(text);
  EXPECT_EQ(blocked(g, 5).nodes.size(), g.nodes.size()) << "5 does not divide 24";
  EXPECT_EQ(blocked(g, 1).nodes.size(), g.nodes.size());
}

// Rows whose scores exceed a unit's memory: blocks, each a group with three outputs.
TEST(BlockSoftmax, LongRowsAreComputedInBlocks) {
  const ir::Graph g = graph(
      "inputs: {q: f32 32x8, k: f32 1024x8, v: f32 1024x8}\nnodes:\n"
      "  - {out: \"s[i, j]\", axes: {i: 32, j: 1024, c: 8}, body: \"q[i, c] * k[j, c]\"}\n"
      "  - {out: \"m[i]\", axes: {i: 32, j: 1024}, combine: max, body: \"s[i, j]\"}\n"
      "  - {out: \"p[i, j]\", axes: {i: 32, j: 1024}, body: \"exp(s[i, j] - m[i])\"}\n"
      "  - {out: \"l[i]\", axes: {i: 32, j: 1024}, body: \"p[i, j]\"}\n"
      "  - {out: \"a[i, d]\", axes: {i: 32, d: 8, j: 1024}, body: \"p[i, j] * v[j, d]\"}\n"
      "  - {out: \"o[i, d]\", axes: {i: 32, d: 8}, body: \"a[i, d] / l[i]\"}\n"
      "outputs: [o]\n");
  const Inputs inputs = random_inputs(g, 10);
  const auto want = ir::evaluate(g, inputs);
  ASSERT_TRUE(want.ok());
  compiler::Options always;
  always.fuse = compiler::Fuse::always;
  for (const hwdesc::Target& target : {small_cpu(8, 2), small_gpu(8)})
    check_on(target, blocked(g, 8), inputs, *want, always);
  const ir::Plan plan = check_on(small_gpu(8), g, inputs, *want, {});
  EXPECT_TRUE(std::any_of(plan.steps.begin(), plan.steps.end(), [](const ir::Step& step) {
    return step.label.find(".blocks") != std::string::npos;
  }));
  EXPECT_TRUE(std::any_of(plan.programs.begin(), plan.programs.end(),
                          [](const ir::Program& p) { return p.graph.outputs.size() == 3; }));
}

}  // namespace
}  // namespace assay::test
