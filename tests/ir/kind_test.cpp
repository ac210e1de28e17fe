// Scans, scatters and sorts: values by hand, text, and what is wrong with them.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/program.h"

namespace assay::ir {
namespace {

constexpr const char* kScan = R"(schema: assay/graph/1
name: prefix
inputs: {x: f32 2x3}
nodes:
  - {op: cum_sum, out: "y[i, s]", axes: {i: 2, s: 3}, scan: {axis: s}, body: "x[i, s]"}
outputs: [y]
)";

// Rows of y that `to` names, negative ones from the end.
constexpr const char* kScatter = R"(schema: assay/graph/1
name: rows
inputs: {x: f32 3x2, to: f32 4, u: f32 4x2}
nodes:
  - {op: scatter, out: "y[m, n]", axes: {m: 3, n: 2, j: 4}, combine: sum, )"
                                 R"(scatter: {initial: 0, positions: {m: 1}}, )"
                                 R"(reads: ["x[m, n]", "to[j]", "u[j, n]"], body: "$2"}
outputs: [y]
)";

constexpr const char* kSort = R"(schema: assay/graph/1
name: order
inputs: {x: f32 5x2}
nodes:
  - {op: top_k, out: "y[k, n]", axes: {k: 3, n: 2, t: 5}, sort: {axis: k, order: descending}, )"
                              R"(body: "x[t, n]"}
outputs: [y]
)";

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

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

Doubles output(const std::string& text, const std::vector<Floats>& inputs) {
  const Graph g = graph(text);
  const auto values = evaluate(g, inputs);
  if (!values.ok()) throw std::runtime_error(render(values.diags()));
  return (*values)[static_cast<size_t>(g.outputs[0])];
}

TEST(Scan, PrefixesByHand) {
  const Floats x{1, 2, 3, 4, -5, 6};
  EXPECT_EQ(output(kScan, {x}), (Doubles{1, 3, 6, 4, -1, 5}));
  const std::string axis = "scan: {axis: s}";
  EXPECT_EQ(output(with(kScan, axis, "scan: {axis: s, exclusive: true}"), {x}),
            (Doubles{0, 1, 3, 0, 4, -1}));
  EXPECT_EQ(output(with(kScan, axis, "scan: {axis: s, reverse: true}"), {x}),
            (Doubles{6, 5, 3, 5, 1, 6}));
  EXPECT_EQ(output(with(kScan, axis, "scan: {axis: s, exclusive: true, reverse: true}"), {x}),
            (Doubles{5, 3, 0, 1, 6, 0}));
  EXPECT_EQ(output(with(kScan, axis, "scan: {axis: i}"), {x}), (Doubles{1, 2, 3, 5, -3, 9}));
}

TEST(Scan, OtherCombinersByHand) {
  const Floats x{3, 1, 4, -1, -5, 2};
  const std::string axis = "scan: {axis: s}";
  EXPECT_EQ(output(with(kScan, axis, "combine: product, " + axis), {x}),
            (Doubles{3, 3, 12, -1, 5, 10}));
  EXPECT_EQ(output(with(kScan, axis, "combine: max, " + axis), {x}), (Doubles{3, 3, 4, -1, -1, 2}));
  EXPECT_EQ(output(with(kScan, axis, "combine: min, scan: {axis: s, exclusive: true}"), {x}),
            (Doubles{INFINITY, 3, 1, INFINITY, -1, -5}));
}

TEST(Scan, TermsAreAnyBody) {
  EXPECT_EQ(output(with(kScan, R"(body: "x[i, s]")", R"(body: "x[i, s] * x[i, s] + s")"),
                   {{1, 2, 3, 0, -1, 2}}),
            (Doubles{1, 6, 17, 0, 2, 8}));
}

TEST(Scatter, TermsInOrderByHand) {
  const std::vector<Floats> in = {
      {1, 2, 3, 4, 5, 6}, {2, 0, -1, 7}, {10, 20, 30, 40, 50, 60, 9, 9}};
  EXPECT_EQ(output(kScatter, in), (Doubles{31, 42, 3, 4, 65, 86}));
  const std::string sum = "combine: sum";
  EXPECT_EQ(output(with(kScatter, sum, "combine: none"), in), (Doubles{30, 40, 3, 4, 50, 60}));
  EXPECT_EQ(output(with(kScatter, sum, "combine: product"), in),
            (Doubles{30, 80, 3, 4, 2500, 7200}));
  EXPECT_EQ(output(with(kScatter, sum, "combine: max"), in), (Doubles{30, 40, 3, 4, 50, 60}));
  EXPECT_EQ(output(with(kScatter, sum, "combine: min"), in), (Doubles{1, 2, 3, 4, 5, 6}));
}

TEST(Scatter, PositionsOutsideAreLeftOut) {
  const std::vector<Floats> in = {{0, 0, 0, 0, 0, 0}, {3, -4, NAN, 1}, {1, 1, 2, 2, 3, 3, 4, 5}};
  EXPECT_EQ(output(kScatter, in), (Doubles{0, 0, 4, 5, 0, 0}));
}

TEST(Scatter, SeveralPositionsAndGuards) {
  EXPECT_EQ(output(R"(schema: assay/graph/1
name: points
inputs: {x: f32 2x3, row: f32 3, column: f32 2, u: f32 3}
nodes:
  - {op: scatter, out: "y[m, n]", axes: {m: 2, n: 3, j: 3}, combine: sum, scatter: {initial: 0, )"
                   R"(positions: {n: 2, m: 1}}, reads: ["x[m, n]", "row[j]", )"
                   R"("column[j : guard inf]", "u[j]"], body: "$3"}
outputs: [y]
)",
                   {{0, 1, 2, 3, 4, 5}, {1, 0, 1}, {-1, 0}, {10, 20, 30}}),
            (Doubles{20, 1, 2, 3, 4, 15}));
}

TEST(Sort, PositionsByHandLowerFirstAmongEqual) {
  // columns 5 1 5 2 9 and 0 7 7 7 -1
  const Floats x{5, 0, 1, 7, 5, 7, 2, 7, 9, -1};
  EXPECT_EQ(output(kSort, {x}), (Doubles{4, 1, 0, 2, 2, 3}));
  EXPECT_EQ(output(with(kSort, "descending", "ascending"), {x}), (Doubles{1, 4, 3, 0, 0, 1}));
}

TEST(Sort, NanIsOrderedAsInfinity) {
  const Floats x{1, 0, NAN, 0, INFINITY, 0, NAN, 0, -INFINITY, 0};
  const Doubles down = output(kSort, {x});
  EXPECT_EQ((Doubles{down[0], down[2], down[4]}), (Doubles{1, 2, 3}));
  const Doubles up = output(with(kSort, "descending", "ascending"), {x});
  EXPECT_EQ((Doubles{up[0], up[2], up[4]}), (Doubles{4, 0, 1}));
}

TEST(Kinds, TextComesBack) {
  for (const std::string& text :
       {std::string(kScan), with(kScan, "{axis: s}", "{axis: i, exclusive: true, reverse: true}"),
        with(kScan, "scan:", "combine: min, scan:"), std::string(kScatter),
        with(kScatter, "combine: sum, ", ""), std::string(kSort),
        with(kSort, ", order: descending", "")}) {
    const Graph g = graph(text);
    const std::string printed = print_graph(g);
    const Result<Graph> back = parse_graph(printed, "g.yaml");
    ASSERT_TRUE(back.ok()) << render(back.diags()) << printed;
    EXPECT_EQ(*back, g) << printed;
    EXPECT_EQ(print_graph(*back), printed);
  }
}

TEST(Kinds, ForPeople) {
  const auto line = [](const std::string& text) {
    const Graph g = graph(text);
    return print_node(g, g.nodes[0]);
  };
  EXPECT_EQ(line(kScan), "y[i, s] = scan sum(s) x[i, s]");
  EXPECT_EQ(line(with(kScan, "{axis: s}", "{axis: s, exclusive: true, reverse: true}")),
            "y[i, s] = exclusive reverse scan sum(s) x[i, s]");
  EXPECT_EQ(line(kScatter), "y[m, n] = x[m, n], then sum at m = to[j]: u[j, n]");
  EXPECT_EQ(line(kSort), "y[k, n] = descending order(t) x[t, n]");
}

TEST(Kinds, WorkIsOfTheTerms) {
  const Graph scan = graph(kScan), scatter = graph(kScatter), sort = graph(kSort);
  EXPECT_EQ(points_of(scan.nodes[0]), 6);
  EXPECT_EQ(points_of(scatter.nodes[0]), 4 * 2);
  EXPECT_EQ(points_of(sort.nodes[0]), 5 * 2);
  EXPECT_EQ(flops_of(scatter, scatter.nodes[0]), 8);
  EXPECT_EQ(flops_of(sort, sort.nodes[0]), 10 * std::log2(5));
}

std::string faults(const std::string& text) {
  const Result<Graph> g = parse_graph(text, "g.yaml");
  return g.ok() ? "" : render(g.diags());
}

TEST(Kinds, VerifySaysWhatIsWrong) {
  const auto expect = [](const std::string& text, const std::string& fault) {
    EXPECT_NE(faults(text).find(fault), std::string::npos) << faults(text);
  };
  expect(with(kScan, "scan:", "combine: none, scan:"), "scans without a combiner");
  expect(with(kScan, "s: 3}, ", "s: 3, k: 2}, "), "scans and has reduce axes");
  expect(with(kScan, "{axis: s}", "{axis: t}"), "there is no axis t");
  expect(with(kScan, "{axis: s}", "{axis: s, order: up}"), "unknown key order");
  expect(with(kScatter, "{m: 1}", "{m: 3}"), "has positions along axis m in read 3, it has 3");
  expect(with(kScatter, "{m: 1}", "{}"), "scatters without positions");
  expect(with(kScatter, "initial: 0", "initial: 2"), "scatters into read 2, which is not a tensor");
  expect(with(kScatter, "x[m, n]", "x[2 - m, n]"), "scatters into read 0, which is not a tensor");
  expect(with(kScatter, R"("$2")", R"("$0")"), "scatters terms that read the tensor");
  expect(with(kScatter, R"("$2")", R"("$2 + m")"), "its terms depend on axis m");
  expect(with(kScatter, "to[j]", "to[m]"), "its positions depend on axis m");
  expect(with(kScatter, ", j: 4", ""), "there is no axis j");
  expect(with(kSort, "t: 5", "t: 2"), "has the first 3 of 2 terms");
  expect(with(kSort, "x[t, n]", "x[t, n] + k"), "its terms depend on axis k");
  expect(with(kSort, "sort:", "combine: sum, sort:"), "sorts and has a combiner");
  expect(with(kSort, "descending", "up"), "unknown order");
  expect(with(kSort, "sort:", "scan: {axis: k}, sort:"), "a node has one kind");
}

// Tiles of a program leave the axes of a kind whole.
TEST(Kinds, ProgramsLeaveTheirAxesWhole) {
  const std::string program = R"(schema: assay/program/1
name: prefix
graph:
  name: prefix
  inputs: {x: f32 4x3}
  nodes:
    - {op: cum_sum, out: "y[i, s]", axes: {i: 4, s: 3}, scan: {axis: s}, body: "x[i, s]"}
  outputs: [y]
tiles:
  - {memory: l1, extent: {i: 2, s: 3}, order: [i, s]}
  - {memory: registers, extent: {i: 1, s: 3}, order: [i, s]}
)";
  const Result<Program> p = parse_program(program, "p.yaml");
  ASSERT_TRUE(p.ok()) << render(p.diags());
  const Result<Program> back = parse_program(print_program(*p), "p.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags());
  EXPECT_EQ(*back, *p);
  const auto fails = [&](const std::string& from, const std::string& to) {
    const Result<Program> q = parse_program(with(program, from, to), "p.yaml");
    return q.ok() ? "" : render(q.diags());
  };
  EXPECT_NE(fails("{i: 1, s: 3}", "{i: 1, s: 1}").find("tile 1: axis s lies whole in each tile"),
            std::string::npos);
  EXPECT_NE(fails("tiles:", "vector: {axis: s, width: 1}\ntiles:").find("which one worker walks"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::ir
