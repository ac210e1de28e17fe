// Two reductions as one tuple reduction: which are found, values, special ones, the algebra of
// states.
#include "compiler/passes/join_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "compiler/passes/fuse_elementwise.h"
#include "tests/compiler/graph_builder.h"

namespace assay::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ir::Graph graph(const std::string& text) {
  Result<ir::Graph> g = ir::parse_graph("schema: assay/graph/1\nname: g\n" + text, "g.yaml");
  if (!g.ok()) throw std::runtime_error(render(g.diags()) + text);
  return *g;
}

ir::Graph joined(const ir::Graph& g) {
  return compiler::join_statistics(g, [](const ir::Graph&, const ir::Graph&) { return true; });
}

std::vector<ir::Layout> row_major_layouts(const ir::Graph& g) {
  std::vector<ir::Layout> out;
  for (const ir::Tensor& t : g.tensors)
    out.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  return out;
}

int tuples_in(const ir::Graph& g) {
  int out = 0;
  for (const ir::Node& n : g.nodes) out += std::holds_alternative<ir::TupleReduction>(n.kind);
  return out;
}

std::string softmax(int64_t rows, int64_t columns, const std::string& f = "x[i, j]") {
  const std::string i = std::to_string(rows), j = std::to_string(columns),
                    axes = "axes: {i: " + i + ", j: " + j + "}";
  return "inputs: {x: f32 " + i + "x" + j + ", w: f32 " + j + "}\nnodes:\n" +
         "  - {out: \"m[i]\", " + axes + ", combine: max, body: \"" + f + "\"}\n" +
         "  - {out: \"p[i, j]\", " + axes + ", body: \"exp(" + f + " - m[i])\"}\n" +
         "  - {out: \"s[i]\", " + axes + ", body: \"p[i, j]\"}\n" + "  - {out: \"y[i, j]\", " +
         axes + ", body: \"p[i, j] / s[i]\"}\noutputs: [y]\n";
}

std::string layer_norm(int64_t rows, int64_t columns,
                       const std::string& square = "d[i, j] * d[i, j]",
                       const std::string& f = "x[i, j]") {
  const std::string i = std::to_string(rows), j = std::to_string(columns),
                    share = std::to_string(1.0 / static_cast<double>(columns)),
                    axes = "axes: {i: " + i + ", j: " + j + "}";
  return "inputs: {x: f32 " + i + "x" + j + ", w: f32 " + j + "}\nnodes:\n" +
         "  - {out: \"m[i]\", " + axes + ", body: \"(" + f + ") / " + j + "\"}\n" +
         "  - {out: \"d[i, j]\", " + axes + ", body: \"" + f + " - m[i]\"}\n" +
         "  - {out: \"v[i]\", " + axes + ", body: \"" + square + " / " + j + "\"}\n" +
         "  - {out: \"y[i, j]\", " + axes +
         ", body: \"d[i, j] / sqrt(v[i] + 0.00001) * w[j]\"}\noutputs: [y]\n";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::vector<double> output(const ir::Graph& g, const std::vector<std::vector<float>>& inputs) {
  const auto values = ir::evaluate(g, inputs);
  if (!values.ok()) throw std::runtime_error(render(values.diags()));
  return (*values)[static_cast<size_t>(g.outputs[0])];
}

void expect_same(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::isnan(a[i]), std::isnan(b[i])) << i << ": " << a[i] << " " << b[i];
    if (std::isnan(a[i]) || a[i] == b[i]) continue;
    EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(a[i]))) << i;
  }
}

TEST(JoinStatistics, FindsPairsByTheirFormAlone) {
  for (const std::string& text :
       {softmax(3, 5), softmax(3, 5, "x[i, j] * 0.125 + w[j]"), softmax(1, 1), layer_norm(3, 5),
        layer_norm(3, 5, "pow(d[i, j], 2)"),
        layer_norm(3, 5, "d[i, j] * d[i, j]", "x[i, j] + w[j]"),
        replaced(layer_norm(3, 5), "x[i, j] - m[i]", "m[i] - x[i, j]")}) {
    const ir::Graph g = graph(text);
    for (const ir::Graph& before : {g, compiler::fuse_elementwise(g)}) {
      const ir::Graph after = joined(before);
      EXPECT_EQ(render(ir::verify(after)), "");
      EXPECT_EQ(tuples_in(after), 1) << ir::print_graph(after);
      EXPECT_EQ(after.nodes.size() + 1, before.nodes.size());
    }
  }
}

TEST(JoinStatistics, AreReadBackFromText) {
  for (const std::string& text :
       {softmax(5, 7), layer_norm(4, 24), softmax(5, 7, "x[i, j] - 0.5")}) {
    const ir::Graph g = joined(graph(text));
    ASSERT_EQ(tuples_in(g), 1);
    const std::string printed = ir::print_graph(g);
    const Result<ir::Graph> back = ir::parse_graph(printed, "again.yaml");
    ASSERT_TRUE(back.ok()) << render(back.diags()) << printed;
    EXPECT_EQ(ir::print_graph(*back), printed);
    ASSERT_EQ(back->nodes.size(), g.nodes.size());
    for (size_t n = 0; n < g.nodes.size(); ++n) EXPECT_EQ(back->nodes[n], g.nodes[n]) << printed;
  }
}

TEST(JoinStatistics, LeavesOthersAlone) {
  for (const std::string& text :
       {replaced(softmax(3, 5), "combine: max", "combine: min"),
        replaced(softmax(3, 5), "exp(x", "exp(2 * x"),
        replaced(softmax(3, 5), "x[i, j]", "x[i, 4 - j]"), replaced(softmax(3, 5), "[y]", "[y, m]"),
        replaced(softmax(3, 5), "[y]", "[y, s]"), replaced(layer_norm(3, 5), ") / 5", ") / 4"),
        replaced(layer_norm(3, 5), "x[i, j] -", "w[j] -"), layer_norm(3, 5, "d[i, j] * x[i, j]"),
        layer_norm(3, 5, "pow(d[i, j], 3)")})
    EXPECT_EQ(tuples_in(joined(graph(text))), 0) << text;
  const ir::Graph g = graph(softmax(3, 5));
  EXPECT_EQ(compiler::join_statistics(g, [](const auto&, const auto&) { return false; }), g);
}

// What is asked about are the reductions, what lies between and what reads them.
TEST(JoinStatistics, AsksAboutThePartThatChanges) {
  const ir::Graph g =
      graph(replaced(layer_norm(3, 5), "outputs",
                     "  - {out: \"z[i]\", axes: {i: 3, j: 5}, body: \"y[i, j]\"}\noutputs"));
  int asked = 0;
  compiler::join_statistics(g, [&](const ir::Graph& now, const ir::Graph& then) {
    ++asked;
    EXPECT_EQ(now.nodes.size(), 4U);
    EXPECT_EQ(then.nodes.size(), 2U);
    EXPECT_EQ(now.outputs, std::vector<int>{now.nodes[3].output});
    EXPECT_EQ(now.inputs.size(), 2U);
    EXPECT_EQ(render(ir::verify(now)) + render(ir::verify(then)), "");
    return false;
  });
  EXPECT_EQ(asked, 1);
}

TEST(JoinStatistics, KeepsValues) {
  std::mt19937 rng(2);
  for (const bool norm : {false, true})
    for (const int64_t columns : {1, 2, 7, 64, 300}) {
      const ir::Graph g = graph(norm ? layer_norm(5, columns, "d[i, j] * d[i, j]", "x[i, j] + w[j]")
                                     : softmax(5, columns, "x[i, j] * 8 + w[j]"));
      std::vector<std::vector<float>> in(2);
      for (size_t i = 0; i < 2; ++i) in[i].resize(static_cast<size_t>(columns) * (i == 0 ? 5 : 1));
      for (auto& v : in)
        for (float& x : v) x = std::uniform_real_distribution<float>(-2, 9)(rng);
      expect_same(output(joined(g), in), output(g, in), 1e-9);
    }
}

// Rows with masks, infinities, NaN, and numbers whose squares are far beyond f32.
TEST(JoinStatistics, KeepsSpecialValues) {
  const std::vector<std::vector<float>> rows = {
      {-kInf, -kInf, -kInf, -kInf},
      {-kInf, -kInf, 1, 2},
      {1, -kInf, 2, -kInf},
      {kInf, 1, 2, 3},
      {1, 2, kInf, kInf},
      {kInf, -kInf, 0, 1},
      {kNan, 1, 2, 3},
      {1, 2, 3, kNan},
      {-kInf, kNan, -kInf, -kInf},
      {kNan, kInf, kNan, 1},
      {-3.4028235e38F, -3.4028235e38F, 0, 1},
      {0, 0, 0, 0},
      {-3.4028235e38F, -3.4028235e38F, -3.4028235e38F, -3.4028235e38F},
      {1e20F, 1e-20F, 1, 2},
      {88, -104, 89, 0},
      {kInf, kInf, kInf, kInf},
      {-kInf, 5, 5, 5},
      {1, 2, 3, -kInf}};
  std::vector<float> x;
  for (const std::vector<float>& row : rows) x.insert(x.end(), row.begin(), row.end());
  const auto n = static_cast<int64_t>(rows.size());
  for (const std::string& text : {softmax(n, 4), layer_norm(n, 4)})
    for (const char* wanted : {"y", "m", "s", "v"}) {
      ir::Graph g = graph(text);
      const std::vector<float> w = {1, 1, 1, 1};
      const ir::Graph after = joined(g);
      if (*wanted == 'y') {
        expect_same(output(after, {x, w}), output(g, {x, w}), 1e-6);
        continue;
      }
      // The statistics themselves.
      const auto before = *ir::evaluate(g, {{x, w}}), now = *ir::evaluate(after, {{x, w}});
      size_t first = 0;
      for (size_t t = 0; t < g.tensors.size(); ++t) {
        if (g.tensors[t].name != wanted) continue;
        for (const ir::Node& node : after.nodes)
          if (std::holds_alternative<ir::TupleReduction>(node.kind)) {
            const std::vector<double>& both = now[static_cast<size_t>(node.output)];
            first = *wanted == 'm' ? 0 : both.size() / 2;
            expect_same({both.begin() + static_cast<std::ptrdiff_t>(first),
                         both.begin() + static_cast<std::ptrdiff_t>(first + rows.size())},
                        before[t], 1e-6);
          }
      }
    }
}

double value_of(const ir::Scalar& s, const std::vector<double>& operands) {
  using S = ir::ScalarOp;
  const auto arg = [&](size_t i) { return value_of(s.args[i], operands); };
  switch (s.op) {
    case S::read:
      return operands.at(static_cast<size_t>(s.operand));
    case S::constant:
      return s.value;
    case S::add:
      return arg(0) + arg(1);
    case S::sub:
      return arg(0) - arg(1);
    case S::mul:
      return arg(0) * arg(1);
    case S::neg:
      return -arg(0);
    case S::abs:
      return std::abs(arg(0));
    case S::exp:
      return std::exp(arg(0));
    case S::max:
      return arg(0) > arg(1) || std::isnan(arg(0)) ? arg(0) : arg(1);
    case S::min:
      return arg(0) < arg(1) || std::isnan(arg(0)) ? arg(0) : arg(1);
    case S::less:
      return arg(0) < arg(1);
    case S::equal:
      return arg(0) == arg(1);
    case S::select:
      return arg(0) != 0 ? arg(1) : arg(2);
    default:
      throw std::runtime_error("not used by these states");
  }
}

using State = std::vector<double>;

State combined(const ir::TupleReduction& t, const State& a, const State& b) {
  State both = a, out;
  both.insert(both.end(), b.begin(), b.end());
  for (const ir::Component& c : t.state) out.push_back(value_of(c.combine, both));
  return out;
}

// The terms of a row in random parts, whose states are combined in a random order.
TEST(JoinStatistics, StatesOfAnyPartsCombineToTheWhole) {
  std::mt19937 rng(3);
  for (const std::string& text : {softmax(1, 8), layer_norm(1, 8)}) {
    const ir::Graph g = joined(graph(text));
    const auto& t = std::get<ir::TupleReduction>(g.nodes[0].kind);
    const size_t reads = g.nodes[0].reads.size();
    for (int round = 0; round < 300; ++round) {
      const size_t n = 1 + rng() % 40;
      std::vector<double> x;
      for (size_t i = 0; i < n; ++i)
        x.push_back(std::uniform_real_distribution<double>(-30, 30)(rng));
      if (round % 3 == 0)
        for (double& v : x)
          if (rng() % 3 == 0) v = -std::numeric_limits<double>::infinity();
      if (text == layer_norm(1, 8))
        for (double& v : x) v = std::isinf(v) ? 7 : v;
      State init;
      for (const ir::Component& c : t.state) init.push_back(c.init);
      std::vector<State> parts(1 + rng() % 7, init);
      const auto step = [&](State& s, double v) {
        State operands = s;
        operands.push_back(v);
        operands.resize(s.size() + reads, x[0]);
        for (size_t c = 0; c < s.size(); ++c) s[c] = value_of(t.state[c].step, operands);
      };
      State whole = init;
      for (const double v : x) {
        step(whole, v);
        step(parts[rng() % parts.size()], v);
      }
      while (parts.size() > 1) {
        const size_t a = rng() % parts.size();
        const State taken = parts[a];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(a));
        State& other = parts[rng() % parts.size()];
        other = rng() % 2 == 0 ? combined(t, taken, other) : combined(t, other, taken);
      }
      for (size_t c = 0; c < whole.size(); ++c)
        EXPECT_NEAR(parts[0][c], whole[c], 1e-9 * (1 + std::abs(whole[c]))) << round;
    }
  }
}

// One term of a row may be as far from the mean as can be.
TEST(JoinStatistics, VarianceIsGoodWhereOneTermIsAnOutlier) {
  constexpr int64_t kColumns = 768;
  ir::Graph g = joined(graph(layer_norm(1, kColumns)));
  g.nodes.resize(1);
  g.outputs = {g.nodes[0].output};
  std::mt19937 rng(4);
  const hwdesc::Target target = small_cpu(8, 1);
  const compiler::Problem problem{g, row_major_layouts(g), std::vector<bool>(g.tensors.size())};
  for (int round = 0; round < 24; ++round) {
    const float outlier = std::vector{0.0F, 10.0F, 1e4F, 1e15F}[static_cast<size_t>(round % 4)];
    std::vector<float> x(kColumns);
    for (float& v : x) v = std::uniform_real_distribution<float>(-1, 1)(rng);
    x[std::vector<size_t>{0, 1, kColumns / 2, kColumns - 1}[static_cast<size_t>(round / 4 % 4)]] =
        outlier;
    const Comparison c =
        compare(random_program(problem, target, rng), target, {x, std::vector<float>(kColumns, 1)});
    EXPECT_EQ(c.fault, "");
    EXPECT_LT(c.difference, 2e-5) << outlier;
  }
}

}  // namespace
}  // namespace assay::test
