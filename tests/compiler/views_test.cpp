// Parts of tensors lie inside them: values stay the same, and no step moves them.
#include "compiler/passes/views.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/passes/cut_sequences.h"
#include "tests/compiler/graph_builder.h"

namespace assay::test {
namespace {

struct Parts : Builder {
  std::mt19937 rng{5};

  int product(int x, int64_t columns) { return Builder::product(x, columns, rng); }
  // All of one shape but along `dim`.
  int joined(const std::vector<int>& parts, size_t dim) {
    Shape to = shape(parts[0]);
    to[dim] = 0;
    std::vector<ir::Read> reads;
    ir::Scalar body;
    for (const int part : parts) {
      ir::Read r = at(part, own(to.size()));
      r.index[dim] = r.index[dim] + -to[dim];
      r.guarded = true;
      to[dim] += shape(part)[dim];
      reads.push_back(std::move(r));
      const ir::Scalar own_value = ir::read(static_cast<int>(reads.size()) - 1);
      body = reads.size() == 1 ? own_value : ir::apply(ir::ScalarOp::add, {body, own_value});
    }
    return node("concat", to, {}, std::move(reads), std::move(body));
  }
  // Each step of a recurrence over the rows of `inputs`, [rows, columns].
  int recurrence(int inputs) {
    const int64_t columns = shape(inputs)[1];
    std::vector<int> states;
    for (int64_t t = 0; t < shape(inputs)[0]; ++t) {
      const int row = slice(inputs, 0, t, 1, 1);
      const int all =
          states.empty() ? row : binary(ir::ScalarOp::add, row, product(states.back(), columns));
      states.push_back(unary(ir::ScalarOp::tanh, all));
    }
    return joined(states, 0);
  }
};

int64_t count_steps(const ir::Plan& plan, const std::string& name) {
  return std::ranges::count_if(
      plan.steps, [&](const ir::Step& s) { return s.name.find(name) != std::string::npos; });
}

TEST(Views, SlicesAreArgumentsOfOneProgram) {
  Parts b;
  const int y = b.product(b.input({8, 64}), 64);
  for (int64_t t = 0; t < 4; ++t)
    b.g.outputs.push_back(b.unary(ir::ScalarOp::tanh, b.slice(y, 0, 2 * t, 1, 2)));
  const ir::Plan plan = check(b.g, b.rng);
  ASSERT_EQ(plan.steps.size(), 5U);
  EXPECT_EQ(plan.programs.size(), 2U);
  for (size_t t = 0; t < 4; ++t)
    EXPECT_EQ(plan.steps[1 + t].begins, (std::vector<int64_t>{static_cast<int64_t>(t) * 128, 0}));
}

TEST(Views, SlicesThatBeginAtNoVectorAreCopies) {
  Parts b;
  const int y = b.product(b.input({8, 5}), 5);
  for (int64_t t = 0; t < 8; ++t)
    b.g.outputs.push_back(b.unary(ir::ScalarOp::tanh, b.slice(y, 0, t, 1, 1)));
  for (const ir::Step& s : check(b.g, b.rng).steps) EXPECT_TRUE(s.begins.empty());
}

TEST(Views, JoinedTensorsAreWrittenWhereTheyBelong) {
  Parts b;
  const int x = b.input({4, 16});
  std::vector<int> parts;
  for (int i = 0; i < 3; ++i) parts.push_back(b.product(x, 32));
  const int all = b.joined(parts, 0);
  b.g.outputs = {b.product(all, 16), all};
  const ir::Plan plan = check(b.g, b.rng);
  EXPECT_EQ(plan.steps.size(), 4U);
  EXPECT_EQ(count_steps(plan, "concat"), 0);
}

TEST(Views, ChannelsInBlocksAreJoinedAsBlocks) {
  Parts b;
  const int x = b.input({1, 8, 3, 5});
  std::vector<int> parts;
  for (int i = 0; i < 2; ++i) {
    const int w = b.weights({16, 8}, b.rng);
    parts.push_back(b.node(
        "conv", {1, 16, 3, 5}, {8},
        {Builder::at(x, {ir::variable(0), ir::variable(4), ir::variable(2), ir::variable(3)}),
         Builder::at(w, {ir::variable(1), ir::variable(4)})},
        ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}), ir::Combiner::sum));
  }
  const int all = b.joined(parts, 1);
  const int w = b.weights({16, 32}, b.rng);
  b.g.outputs = {b.node(
      "conv", {1, 16, 3, 5}, {32},
      {Builder::at(all, {ir::variable(0), ir::variable(4), ir::variable(2), ir::variable(3)}),
       Builder::at(w, {ir::variable(1), ir::variable(4)})},
      ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}), ir::Combiner::sum)};
  EXPECT_EQ(count_steps(check(b.g, b.rng), "concat"), 0);
}

TEST(Views, APartOfTwoTensorsIsCopiedOnce) {
  Parts b;
  const int x = b.input({4, 16});
  const int p = b.product(x, 16), q = b.product(x, 16), r = b.product(x, 16);
  b.g.outputs = {b.joined({p, q}, 0), b.joined({r, p}, 0), b.joined({q, q}, 0)};
  EXPECT_EQ(count_steps(check(b.g, b.rng), "concat"), 2);
}

TEST(Views, InputsAndOutputsKeepTheirStorage) {
  Parts b;
  const int x = b.input({4, 16}), p = b.product(x, 16);
  const int part = b.slice(p, 0, 1, 1, 2);
  b.g.outputs = {part, b.joined({x, p}, 0), p};
  check(b.g, b.rng);
}

// Products of drawn shapes, sliced and joined along drawn dimensions, alone and in schedules.
TEST(Views, DrawnGraphsComputeTheSame) {
  int parts = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    Parts b;
    b.rng.seed(static_cast<unsigned>(round));
    const auto below = [&](size_t n) { return static_cast<size_t>(b.rng() % n); };
    const int64_t columns = std::vector<int64_t>{1, 3, 8, 16, 32}[below(5)];
    std::vector<int> tensors = {
        b.product(b.input({static_cast<int64_t>(1 + below(6)), 8}), columns)};
    for (int i = 0; i < 7; ++i) {
      const int x = tensors[below(tensors.size())];
      const int64_t rows = b.shape(x)[0];
      std::vector<int> alike;  // as many columns
      for (const int t : tensors)
        if (b.shape(t)[1] == b.shape(x)[1]) alike.push_back(t);
      const int64_t first = static_cast<int64_t>(below(static_cast<size_t>(rows)));
      switch (below(4)) {
        case 0:
          tensors.push_back(b.product(x, columns));
          break;
        case 1:
          tensors.push_back(b.slice(
              x, 0, first, 1, 1 + static_cast<int64_t>(below(static_cast<size_t>(rows - first)))));
          break;
        case 2:
          if (rows < 24) tensors.push_back(b.joined({x, alike[below(alike.size())]}, 0));
          break;
        default:
          tensors.push_back(b.unary(ir::ScalarOp::tanh, x));
      }
    }
    for (const int t : tensors)
      if (ir::consumers_of(b.g, t).empty()) b.g.outputs.push_back(t);
    for (const ir::Step& s : check(b.g, b.rng).steps) parts += s.begins.empty() ? 0 : 1;
    compiler::Options always;
    always.schedule = compiler::Schedule::always;
    std::vector<Floats> inputs = {random_floats(b.rng, ir::elements(b.g.tensors[0]))};
    check_on(small_cpu(8, 3), b.g, inputs, *ir::evaluate(b.g, inputs), always);
  }
  EXPECT_GT(parts, 60) << "too few to prove anything";
}

// --- sequences ---

compiler::LaidOut two_layers(Parts& b, int64_t steps) {
  const int first = b.recurrence(b.input({steps, 16}));
  b.g.outputs = {b.recurrence(b.unary(ir::ScalarOp::exp, b.product(first, 16)))};
  compiler::LaidOut laid{b.g, {}};
  for (const ir::Tensor& t : b.g.tensors)
    laid.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  return laid;
}

int64_t count_rows(const ir::Graph& g, const std::string& op, int64_t rows) {
  return std::ranges::count_if(
      g.nodes, [&](const ir::Node& n) { return n.op == op && n.axes[0].extent == rows; });
}

TEST(CutSequences, PiecesWaitForTheirOwnSteps) {
  Parts b;
  const compiler::LaidOut laid = two_layers(b, 7);
  ASSERT_EQ(count_rows(laid.graph, "matmul", 7), 1);
  const compiler::LaidOut whole = compiler::cut_sequences(laid, 1).laid;
  EXPECT_EQ(whole.graph, laid.graph);
  const auto [cut, found] = compiler::cut_sequences(laid, 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(render(ir::verify(cut.graph)), "");
  EXPECT_EQ(cut.layouts.size(), cut.graph.tensors.size());
  EXPECT_EQ(count_rows(cut.graph, "matmul", 7), 0);
  EXPECT_EQ(count_rows(cut.graph, "matmul", 3) + count_rows(cut.graph, "matmul", 2), 3);
  const std::vector<Floats> inputs = {random_floats(b.rng, 7 * 16)};
  const auto want = ir::evaluate(laid.graph, inputs), got = ir::evaluate(cut.graph, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  const auto out = static_cast<size_t>(laid.graph.outputs[0]);
  EXPECT_EQ((*want)[out], (*got)[out]);
}

TEST(CutSequences, AsManyPiecesAsStepsAtMost) {
  Parts b;
  const compiler::LaidOut laid = two_layers(b, 5);
  const compiler::LaidOut cut = compiler::cut_sequences(laid, 64).laid;
  EXPECT_EQ(count_rows(cut.graph, "matmul", 1), count_rows(laid.graph, "matmul", 1) + 5);
}

TEST(CutSequences, WhatIsReadAsAWholeStays) {
  Parts b;
  const int first = b.recurrence(b.input({6, 16}));
  b.g.outputs = {b.product(b.product(first, 16), 16)};
  compiler::LaidOut laid{b.g, {}};
  for (const ir::Tensor& t : b.g.tensors)
    laid.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  EXPECT_FALSE(compiler::cut_sequences(laid, 2).found);
}

TEST(CutSequences, ScalarsAreNone) {
  Parts b;
  const int x = b.input({16});
  const int sum =
      b.node("sum", {}, {16}, {Builder::at(x, {ir::variable(0)})}, ir::read(0), ir::Combiner::sum);
  b.g.outputs = {
      b.node("exp", {}, {}, {Builder::at(sum, {})}, ir::apply(ir::ScalarOp::exp, {ir::read(0)}))};
  check(b.g, b.rng);
}

// All the way: as one sequence and in the pieces that are fastest.
TEST(CutSequences, LayersComputeTheSame) {
  Parts b;
  two_layers(b, 6);
  const std::vector<Floats> inputs = {random_floats(b.rng, 6 * 16)};
  compiler::Options always;
  always.schedule = compiler::Schedule::always;
  check_on(small_cpu(8, 2), b.g, inputs, *ir::evaluate(b.g, inputs), always);
  check(b.g, b.rng);
}

}  // namespace
}  // namespace assay::test
