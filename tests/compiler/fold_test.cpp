// The passes that rewrite a graph keep its values. Every plan here is run by the interpreter, with
// storage shared as it was placed, and compared with the float64 values of the original graph.
#include "compiler/passes/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "compiler/passes/canonicalise.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/lift.h"
#include "compiler/passes/pack_strided.h"
#include "compiler/passes/split_reductions.h"
#include "compiler/passes/transpose_scores.h"
#include "tests/compiler/graph_builder.h"

namespace assay::test {
namespace {

int steps_of(const ir::Plan& p, const std::string& op) {
  return static_cast<int>(std::count_if(p.steps.begin(), p.steps.end(), [&](const ir::Step& s) {
    return p.programs[static_cast<size_t>(s.program)].graph.nodes[0].op == op;
  }));
}

// Self-attention of `heads` heads over `tokens` rows, as exporters write it.
int attention(Builder& b, int x, int64_t heads, std::mt19937& rng) {
  const int64_t tokens = b.shape(x)[1], hidden = b.shape(x)[2], size = hidden / heads;
  const auto linear = [&](int from) {
    return b.binary(ir::ScalarOp::add, b.matmul(from, b.weights({hidden, hidden}, rng)),
                    b.weights({hidden}, rng));
  };
  const auto head = [&](std::vector<int> order) {
    return b.transpose(b.reshape(linear(x), {1, tokens, heads, size}), order);
  };
  const int q = head({0, 2, 1, 3}), k = head({0, 2, 3, 1}), v = head({0, 2, 1, 3});
  const int scores = b.matmul(q, k);
  const int powers = b.unary(
      ir::ScalarOp::exp, b.binary(ir::ScalarOp::sub, scores, b.reduce(ir::Combiner::max, scores)));
  const int weights = b.binary(ir::ScalarOp::div, powers, b.reduce(ir::Combiner::sum, powers));
  const int context =
      b.reshape(b.transpose(b.matmul(weights, v), {0, 2, 1, 3}), {1, tokens, hidden});
  return b.binary(ir::ScalarOp::add, linear(context), x);
}

int layer_norm(Builder& b, int x, std::mt19937& rng) {
  const int64_t n = b.shape(x).back();
  const int centred = b.binary(ir::ScalarOp::sub, x, b.reduce(ir::Combiner::sum, x));
  const int squares = b.binary(ir::ScalarOp::mul, centred, centred);
  const int deviation = b.unary(ir::ScalarOp::sqrt, b.reduce(ir::Combiner::sum, squares));
  const int normal = b.binary(ir::ScalarOp::div, centred, deviation);
  return b.binary(ir::ScalarOp::add, b.binary(ir::ScalarOp::mul, normal, b.weights({n}, rng)),
                  b.weights({n}, rng));
}

TEST(Fold, AttentionKeepsOneTransposeAsAStep) {
  // It transposes the keys, or the queries where rows fill the lanes.
  for (const int64_t tokens : {10, 18}) {
    std::mt19937 rng(1);
    Builder b;
    const int x = b.input({1, tokens, 32});
    b.g.outputs = {attention(b, x, 4, rng)};
    const ir::Plan p = check(b.g, rng);
    EXPECT_EQ(steps_of(p, "reshape"), 0);
    EXPECT_EQ(steps_of(p, "transpose"), 1);
    // q, k, v, one transpose, scores, max, exp, sum, context with the division as its epilogue, and
    // the output with the residual.
    EXPECT_EQ(p.steps.size(), 10U);
  }
}

// Do all reductions read scores with the rows, a spatial axis, as the innermost dimension?
bool rows_are_innermost(const ir::Graph& g) {
  for (const ir::Node& n : g.nodes)
    if (n.op == "reduce" && n.reads[0].index.back() != ir::variable(ir::spatial_count(g, n) - 2))
      return false;
  return true;
}

// Two strided 1x1 convolutions of one tensor share the packed copy.
TEST(PackStridedReads, OnceForAllReadersWhereItIsFaster) {
  std::mt19937 rng(11);
  Builder b;
  const int x = b.input({2, 6, 7, 5});
  const auto strided = [&](int64_t channels) {
    const int w = b.weights({channels, 6}, rng);
    return b.node(
        "conv", {2, channels, 4, 3}, {6},
        {Builder::at(x, {ir::variable(0), ir::variable(4), ir::variable(2, 2), ir::variable(3, 2)}),
         Builder::at(w, {ir::variable(1), ir::variable(4)})},
        ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}), ir::Combiner::sum);
  };
  b.g.outputs = {strided(3), strided(8)};
  ASSERT_EQ(render(ir::verify(b.g)), "");
  compiler::LaidOut laid;
  laid.graph = b.g;
  for (const ir::Tensor& t : b.g.tensors)
    laid.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  const auto answer = [](bool faster) {
    return [faster](const compiler::LaidOut&, const compiler::LaidOut&) { return faster; };
  };
  EXPECT_EQ(compiler::pack_strided_reads(laid, 32, answer(false)).graph, b.g);
  EXPECT_EQ(compiler::pack_strided_reads(laid, 3, answer(true)).graph, b.g)
      << "rows that fill a wave stay";
  const compiler::LaidOut made = compiler::pack_strided_reads(laid, 32, answer(true));
  ASSERT_EQ(render(ir::verify(made.graph)), "");
  ASSERT_EQ(made.graph.nodes.size(), 3U) << "one copy for both";
  EXPECT_EQ(made.graph.tensors.back().shape, (Shape{2, 6, 4, 3}));
  EXPECT_EQ(made.layouts.size(), made.graph.tensors.size());
  expect_same_values(b.g, made.graph, {random_floats(rng, 2 * 6 * 7 * 5)});
  check(b.g, rng);
}

TEST(TransposeScores, SoTheirRowsAreInnermost) {
  std::mt19937 rng(8);
  Builder b;
  const int x = b.input({1, 20, 32});
  b.g.outputs = {b.unary(ir::ScalarOp::tanh, attention(b, attention(b, x, 4, rng), 2, rng))};
  const ir::Graph transposed = compiler::transpose_scores(b.g);
  ASSERT_EQ(render(ir::verify(transposed)), "");
  EXPECT_FALSE(rows_are_innermost(b.g));
  EXPECT_TRUE(rows_are_innermost(transposed));
  const std::vector<Floats> inputs{random_floats(rng, 20 * 32)};
  expect_same_values(b.g, transposed, inputs);
}

TEST(TransposeScores, NotOutputsNorWithAMaskPerElement) {
  std::mt19937 rng(9);
  for (const bool output : {true, false}) {
    Builder b;
    const int q = b.input({20, 8}), k = b.input({8, 20}), mask = b.input({20, 20});
    const int scores = b.matmul(q, k),
              masked = output ? scores : b.binary(ir::ScalarOp::add, scores, mask);
    b.g.outputs = {b.binary(ir::ScalarOp::sub, masked, b.reduce(ir::Combiner::max, masked))};
    if (output) b.g.outputs.push_back(scores);
    EXPECT_EQ(compiler::transpose_scores(b.g), b.g);
    check(b.g, rng);
  }
}

TEST(FuseElementwise, LayerNormTakesThreeStepsAndGeluOne) {
  std::mt19937 rng(2);
  Builder b;
  const int x = b.input({1, 9, 24});
  const int inner =
      b.binary(ir::ScalarOp::add, b.matmul(layer_norm(b, x, rng), b.weights({24, 40}, rng)),
               b.weights({40}, rng));
  const int one = b.weights({1}, rng);
  b.g.outputs = {b.binary(ir::ScalarOp::mul, inner,
                          b.binary(ir::ScalarOp::add, b.unary(ir::ScalarOp::erf, inner), one))};
  EXPECT_EQ(check(b.g, rng).steps.size(), 5U);  // and one for the product with its bias
}

TEST(Lift, ElementwiseNodesBehindAReshapeBecomeEpilogues) {
  std::mt19937 rng(7);
  Builder b;
  const int x = b.input({6, 8}), residual = b.input({1, 6, 16}), other = b.input({2, 3, 16});
  const int once = b.reshape(b.matmul(x, b.weights({8, 16}, rng)), {1, 6, 16});
  const int sum = b.binary(ir::ScalarOp::add, b.binary(ir::ScalarOp::add, residual, once),
                           b.weights({16}, rng));
  const int split =
      b.reshape(b.matmul(b.reshape(sum, {6, 16}), b.weights({16, 16}, rng)), {2, 3, 16});
  b.g.outputs = {b.below(b.binary(ir::ScalarOp::mul, split, other), 2, 9)};
  EXPECT_EQ(check(b.g, rng).steps.size(), 2U);
}

TEST(FuseElementwise, EmbeddingsAreOneStep) {
  std::mt19937 rng(6);
  Builder b;
  const int ids = b.scaled(b.input({1, 9}), 40), positions = b.reshape(b.input({9, 1}), {1, 9});
  const int words = b.gather(b.weights({30, 16}, rng), 0, ids),
            kinds = b.gather(b.weights({2, 16}, rng), 0, positions);
  b.g.outputs = {b.binary(ir::ScalarOp::add, words, kinds)};
  EXPECT_EQ(check(b.g, rng).steps.size(), 2U);  // the scaled indices, and the rest
}

TEST(Fold, OutputsAndInputsKeepTheirStorage) {
  std::mt19937 rng(3);
  Builder b;
  const int x = b.input({4, 6});
  const int plain = b.reshape(x, {3, 8});     // input to output: a step
  const int turned = b.transpose(x, {1, 0});  // so is this
  const int product = b.matmul(x, b.weights({6, 16}, rng));
  const int heads = b.reshape(product, {4, 2, 8});  // the product writes the output
  const int again = b.reshape(product, {8, 8});     // a second one is copied
  const int sunk = b.transpose(b.matmul(x, b.weights({6, 5}, rng)), {1, 0});
  b.g.outputs = {plain, turned, heads, again, sunk};
  const ir::Plan p = check(b.g, rng);
  EXPECT_EQ(steps_of(p, "matmul"), 2);
  EXPECT_EQ(p.steps.size(), 5U);
}

// Chains of moves, products, reductions and elementwise nodes, some of whose values are outputs
// too.
ir::Graph random_graph(std::mt19937& rng) {
  Builder b;
  const auto pick = [&](int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n - 1)(rng);
  };
  std::vector<int> made = {b.input({2, 6, 8}), b.input({4, 12}), b.input({2, 17, 4})};
  const int nodes = 4 + static_cast<int>(pick(9));
  const auto any = [&] {
    return made[static_cast<size_t>(pick(2)) == 0
                    ? made.size() - 1
                    : static_cast<size_t>(pick(static_cast<int64_t>(made.size())))];
  };
  while (static_cast<int>(b.g.nodes.size()) < nodes) {
    const int x = any();
    const Shape s = b.shape(x);
    const size_t rank = s.size();
    switch (pick(11)) {
      case 0: {  // split or merge a dimension
        Shape to = s;
        const auto d = static_cast<size_t>(pick(static_cast<int64_t>(rank)));
        if (pick(2) == 0 && d + 1 < rank) {
          to[d] *= to[d + 1];
          to.erase(to.begin() + static_cast<ptrdiff_t>(d) + 1);
        } else if (s[d] % 2 == 0 && rank < 5) {
          to[d] = 2;
          to.insert(to.begin() + static_cast<ptrdiff_t>(d) + 1, s[d] / 2);
        } else {
          to.insert(to.begin() + static_cast<ptrdiff_t>(d), 1);
        }
        made.push_back(b.reshape(x, to));
        break;
      }
      case 1:
      case 2: {
        std::vector<int> order(rank);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), rng);
        made.push_back(b.transpose(x, order));
        break;
      }
      case 3: {
        const auto d = static_cast<size_t>(pick(static_cast<int64_t>(rank)));
        if (s[d] >= 4) made.push_back(b.slice(x, d, pick(2), 1 + pick(2), s[d] / 2 - pick(2)));
        break;
      }
      case 4: {
        int y = x;
        for (int t : made)
          if (b.shape(t) == s && pick(2) == 0) y = t;
        made.push_back(b.binary(pick(2) == 0 ? ir::ScalarOp::sub : ir::ScalarOp::mul, x, y));
        break;
      }
      case 5:
        made.push_back(b.unary(ir::ScalarOp::tanh, x));
        break;
      case 9: {
        const auto d = static_cast<size_t>(pick(static_cast<int64_t>(rank)));
        if (ir::elements(b.g.tensors[static_cast<size_t>(x)]) < 400)
          made.push_back(b.concat(x, b.unary(ir::ScalarOp::tanh, x), d));
        break;
      }
      case 8:
        made.push_back(b.below(x, static_cast<int>(pick(static_cast<int64_t>(rank))),
                               static_cast<double>(1 + pick(3))));
        break;
      case 7: {
        const int ids = any();
        if (rank <= 3 && b.shape(ids).size() <= 2 &&
            ir::elements(b.g.tensors[static_cast<size_t>(x)]) < 400)
          made.push_back(b.gather(x, static_cast<size_t>(pick(static_cast<int64_t>(rank))),
                                  pick(2) == 0 ? b.scaled(ids, 9.5) : ids));
        break;
      }
      case 6: {
        const int top = b.reduce(pick(2) == 0 ? ir::Combiner::sum : ir::Combiner::max, x);
        made.push_back(b.binary(ir::ScalarOp::sub, x, top));
        break;
      }
      default:
        if (rank >= 2 && pick(2) == 0) {
          made.push_back(b.matmul(x, b.weights({s.back(), 1 + pick(17)}, rng)));
        } else if (rank >= 2) {
          std::vector<int> order(rank);
          std::iota(order.begin(), order.end(), 0);
          std::swap(order[rank - 1], order[rank - 2]);
          made.push_back(b.matmul(x, b.transpose(x, order)));
        }
    }
  }
  b.g.outputs = {b.g.nodes.back().output};
  for (const ir::Node& n : b.g.nodes)
    if (n.output != b.g.outputs[0] && pick(6) == 0) b.g.outputs.push_back(n.output);
  return b.g;
}

TEST(Fold, RandomGraphsKeepTheirValues) {
  std::mt19937 rng(4);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    check(random_graph(rng), rng, round % 2 == 0 ? 4 : 8);
    if (HasFailure()) return;
  }
}

// After each pass by itself, the graph is valid and has the same values.
TEST(Fold, EveryPassKeepsTheValuesOfRandomGraphs) {
  std::mt19937 rng(5);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const ir::Graph g = random_graph(rng);
    const ir::Graph folded = compiler::fold(compiler::transpose_scores(compiler::canonicalise(g))),
                    lifted = compiler::lift_over_reshapes(folded),
                    fused = compiler::fuse_elementwise(compiler::fold(lifted)),
                    postponed = compiler::postpone_factors(fused),
                    dropped = compiler::drop_unread(postponed);
    EXPECT_LE(dropped.nodes.size(), postponed.nodes.size());
    std::vector<Floats> inputs;
    for (int t : g.inputs)
      inputs.push_back(random_floats(rng, ir::elements(g.tensors[static_cast<size_t>(t)])));
    const auto want = ir::evaluate(g, inputs);
    ASSERT_TRUE(want.ok());
    for (const ir::Graph* changed : {&folded, &lifted, &fused, &postponed, &dropped}) {
      ASSERT_EQ(render(ir::verify(*changed)), "");
      const auto got = ir::evaluate(*changed, inputs);
      ASSERT_TRUE(got.ok());
      for (size_t o = 0; o < g.outputs.size(); ++o) {
        const auto &w = (*want)[static_cast<size_t>(g.outputs[o])],
                   &v = (*got)[static_cast<size_t>(changed->outputs[o])];
        ASSERT_EQ(w.size(), v.size());
        for (size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(w[i], v[i], 1e-9 * (1 + std::abs(w[i])));
      }
    }
  }
}

}  // namespace
}  // namespace assay::test
