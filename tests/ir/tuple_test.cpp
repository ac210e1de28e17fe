// Tuple reductions: definition, text, refusals, the algebra of states.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/graph.h"
#include "ir/program.h"

namespace assay::ir {
namespace {

// Mean and squares of columns (Welford's step, Chan's combination), and the sum of weights.
constexpr const char* kMoments = R"t(schema: assay/graph/1
name: moments
inputs: {x: f32 5x2, w: f32 5}
nodes:
  - op: moments
    out: "y[r, i]"
    axes: {r: 3, i: 2, k: 5}
    tuple:
      axis: r
      init: {n: 0, a: 0, b: 0, t: 0}
      step:
        n: n + 1
        a: "a + ($0 - a) / (n + 1)"
        b: "b + ($0 - a) * ($0 - (a + ($0 - a) / (n + 1)))"
        t: "t + $1 * k"
      combine:
        n: n + other.n
        a: "a + (other.a - a) * (other.n / (n + other.n))"
        b: "b + other.b + (other.a - a) * (other.a - a) * (n * other.n / (n + other.n))"
        t: t + other.t
      results: [a, "b / n", t]
    reads: ["x[k, i]", "w[k]"]
outputs: [y]
)t";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Graph graph(const std::string& text) {
  Result<Graph> g = parse_graph(text, "g.yaml");
  if (!g.ok()) throw std::runtime_error(render(g.diags()));
  return *g;
}

const TupleReduction& tuple_of(const Graph& g) { return std::get<TupleReduction>(g.nodes[0].kind); }

TEST(Tuple, MomentsByHand) {
  const Graph g = graph(kMoments);
  const std::vector<std::vector<float>> in = {{1, 4, 2, 4, 3, 4, 4, 4, 10, 4}, {1, 1, 2, 0, 1}};
  const auto values = evaluate(g, in);
  ASSERT_TRUE(values.ok()) << render(values.diags());
  const std::vector<double>& y = (*values)[static_cast<size_t>(g.outputs[0])];
  const std::vector<double> expected = {4, 4, 10, 0, 0 + 1 + 4 + 0 + 4, 9};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-12) << i;
}

// The largest of many rows and where it is first, over two axes, results innermost.
TEST(Tuple, ManyRowsOverTwoAxes) {
  constexpr int64_t kRows = 521, kP = 3, kQ = 7;
  const std::string text =
      "schema: assay/graph/1\nname: first\ninputs: {x: f32 521x3x7}\nnodes:\n"
      "  - {op: arg_max, out: \"y[i, r]\", axes: {i: 521, r: 2, p: 3, q: 7}, "
      "tuple: {axis: r, init: {m: -inf, at: -1}, step: {m: \"max(m, x[i, p, "
      "q])\", at: \"select(less(m, x[i, p, q]), p * 7 + q, at)\"}, combine: "
      "{m: \"max(m, other.m)\", at: other.at}, results: [at, m]}}\n"
      "outputs: [y]\n";
  const Graph g = graph(text);
  std::mt19937 rng(1);
  std::vector<float> x(static_cast<size_t>(kRows * kP * kQ));
  for (float& v : x) v = static_cast<float>(rng() % 16);
  const auto values = evaluate(g, {{x}});
  ASSERT_TRUE(values.ok()) << render(values.diags());
  const std::vector<double>& y = (*values)[static_cast<size_t>(g.outputs[0])];
  for (size_t i = 0; i < static_cast<size_t>(kRows); ++i) {
    const auto row = x.begin() + static_cast<std::ptrdiff_t>(i) * kP * kQ;
    const auto most = std::max_element(row, row + kP * kQ);
    EXPECT_EQ(y[2 * i], static_cast<double>(most - row));
    EXPECT_EQ(y[2 * i + 1], static_cast<double>(*most));
  }
}

TEST(Tuple, TextComesBack) {
  for (const std::string& text : {std::string(kMoments), with(kMoments, "t: 0", "t: -inf"),
                                  with(kMoments, "out: \"y", "dtype: f16\n    out: \"y")}) {
    const Graph g = graph(text);
    const std::string printed = print_graph(g);
    const Result<Graph> back = parse_graph(printed, "g.yaml");
    ASSERT_TRUE(back.ok()) << render(back.diags()) << printed;
    EXPECT_EQ(*back, g) << printed;
    EXPECT_EQ(print_graph(*back), printed);
  }
}

TEST(Tuple, ForPeople) {
  const Graph g = graph(with(with(kMoments, "[a, \"b / n\", t]", "[a, b, t]"), "n: n + 1", "n: n"));
  EXPECT_EQ(print_node(g, g.nodes[0]),
            "y[r, i] = tuple(k) n = n, a = a + (x[k, i] - a) / (n + 1), "
            "b = b + (x[k, i] - a) * (x[k, i] - (a + (x[k, i] - a) / (n + 1))), "
            "t = t + w[k] * k; then a, b, t");
}

TEST(Tuple, WorkIsOfTheTerms) {
  const Graph g = graph(kMoments);
  EXPECT_EQ(points_of(g.nodes[0]), 10);
  EXPECT_EQ(flops_of(g, g.nodes[0]), 10 * 9);  // what its components share is computed once
  EXPECT_TRUE(is_whole(g.nodes[0], 0));
  EXPECT_FALSE(is_whole(g.nodes[0], 1));
  EXPECT_TRUE(is_whole(g.nodes[0], 2));
}

TEST(Tuple, VerifySaysWhatIsWrongAndWhere) {
  const auto expect = [](const std::string& from, const std::string& to, const std::string& fault) {
    const Result<Graph> g = parse_graph(with(kMoments, from, to), "g.yaml");
    ASSERT_FALSE(g.ok()) << to;
    EXPECT_NE(render(g.diags()).find(fault), std::string::npos) << render(g.diags());
    EXPECT_NE(render(g.diags()).find("g.yaml:"), std::string::npos) << render(g.diags());
  };
  expect("axis: r", "axis: z", "there is no axis z");
  expect("axis: r", "axis: k", "puts the results of a tuple along axis 2");
  expect("r: 3", "r: 4", "has 3 results, axis r has 4 places");
  expect(", k: 5", "", "there is no axis k");
  expect("n: n + 1", "n: n + 1 + q", "there is no axis q");
  expect("n: n + 1", "n: n + r", "its terms depend on axis r");
  expect("n: n + other.n", "n: n + k", "the combination of n uses axis k");
  expect("n: n + other.n", "n: n + $1", "the combination of n uses operand 9, the node has 8");
  expect("n: n + 1", "n: n + other.n", "there is no axis other.n");
  expect("n: n + 1", "q: n + 1", "q is no component of the state");
  expect("[a, \"b / n\", t]", "[a, $1, t]", "a result depends on reduce axis k");
  expect("[a, \"b / n\", t]", "[a, k, t]", "a result depends on reduce axis k");
  expect("{n: 0, ", "{n: 1 + 1, ", "a component begins as a number");
  expect("{n: 0, ", "{k: 0, n: 0, ", "k");
  expect("    reads:", "    body: \"1\"\n    reads:", "a tuple reduction has no body");
  expect("    reads:", "    combine: sum\n    reads:", "reduces a tuple and has a combiner");
  expect("    reads:", "    scan: {axis: i}\n    reads:", "a node has one kind");
  expect("w[k]", "x[$1, k]", "");
  expect("      results: [a, \"b / n\", t]\n", "", "results");
}

TEST(Tuple, VerifyOfGraphsThatAreNoText) {
  const Graph g = graph(kMoments);
  const auto faults = [&](const auto& change) {
    Graph wrong = g;
    change(std::get<TupleReduction>(wrong.nodes[0].kind), wrong.nodes[0]);
    return render(verify(wrong));
  };
  EXPECT_EQ(render(verify(g)), "");
  EXPECT_NE(faults([](auto& t, auto&) { t.over = 2; }).find("over 2 axes of 1"), std::string::npos);
  EXPECT_NE(faults([](auto& t, auto&) { t.state.clear(); }).find("without components"),
            std::string::npos);
  EXPECT_NE(faults([](auto& t, auto&) { t.state[0].step = read(6); }).find("uses operand 6"),
            std::string::npos);
  EXPECT_NE(faults([](auto& t, auto&) { t.state[1].name = "n"; }).find("the component n has"),
            std::string::npos);
  EXPECT_NE(faults([](auto&, auto& n) { n.body = read(0); }).find("has a body"), std::string::npos);
}

TEST(Tuple, SharedPartsAreComputedOnce) {
  const Graph g = graph(kMoments);
  const Shared s = share_parts(steps_of(tuple_of(g)), 6);
  // n + 1, x - a, and the next mean
  ASSERT_EQ(s.parts.size(), 3U);
  EXPECT_EQ(s.trees[0], read(6));
  EXPECT_EQ(s.trees[1].op, ScalarOp::read);
  EXPECT_EQ(operations_in(s.trees).size() + operations_in(s.parts).size(),
            operations_in(steps_of(tuple_of(g))).size());
}

// A tile leaves the axes of results and terms whole. Lanes may share a row.
TEST(Tuple, ProgramsLeaveItsAxesWhole) {
  const std::string graph_text = kMoments;
  Program p;
  p.name = "moments";
  p.graph = graph(kMoments);
  for (const Tensor& t : p.graph.tensors)
    p.layouts.push_back(row_major(static_cast<int>(t.shape.size())));
  p.tiles = {{"l1", {3, 2, 5}, {0, 1}}, {"registers", {3, 1, 5}, {0, 1, 2}}};
  EXPECT_EQ(render(verify(p)), "");
  const Result<Program> back = parse_program(print_program(p), "p.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags());
  EXPECT_EQ(*back, p);
  p.vector_axis = 0;
  p.vector_width = 4;
  EXPECT_EQ(render(verify(p)), "");
  p.tiles.back().extent = {1, 1, 5};
  EXPECT_NE(render(verify(p)).find("axis r lies whole in each tile"), std::string::npos);
  p.tiles.back().extent = {3, 1, 1};
  EXPECT_NE(render(verify(p)).find("axis k lies whole in each tile"), std::string::npos);
}

}  // namespace
}  // namespace assay::ir
