#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ir/element.h"
#include "ir/program.h"
#include "tests/ir/damaged_input.h"
#include "tests/ir/graph_samples.h"

namespace assay::ir {
namespace {

constexpr const char* kMatmul = R"(schema: assay/graph/1
name: matmul
inputs: {a: f32 128x64, b: f32 64x256}
nodes:
  - {op: matmul, out: "c[m, n]", axes: {m: 128, n: 256, k: 64}, body: "a[m, k] * b[k, n]"}
outputs: [c]
)";

void expect_comes_back(const Graph& g) {
  const std::string text = print_graph(g);
  const Result<Graph> back = parse_graph(text, "g.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags()) << text;
  EXPECT_EQ(back.value(), g) << text;
  EXPECT_EQ(print_graph(back.value()), text);
}

std::string faults_of(const std::string& text) {
  const Result<Graph> g = parse_graph(text, "g.yaml");
  return g.ok() ? "" : render(g.diags());
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TextGraph, AMatmulByHand) {
  const Result<Graph> g = parse_graph(kMatmul, "matmul.yaml");
  ASSERT_TRUE(g.ok()) << render(g.diags());
  Graph want = samples::matmul(128, 256, 64);
  want.nodes[0].name = "c";
  EXPECT_EQ(g.value(), want);
  EXPECT_EQ(print_node(*g, g->nodes[0]), "c[m, n] = sum(k) a[m, k] * b[k, n]");
}

TEST(TextGraph, PrintsCanonically) {
  EXPECT_EQ(print_graph(samples::conv({3, 5, 11, 7, 2, 3})),
            R"(schema: assay/graph/1
name: conv
tensors:
  x: f32 1x3x11x11
  w: f32 5x3x7x7
  y: f32 1x5x6x6
inputs: [x, w]
outputs: [y]
nodes:
  - {name: conv1, op: conv, out: "y[n, o, y, x]", axes: )"
            R"({n: 1, o: 5, y: 6, x: 6, c: 3, r: 7, s: 7}, combine: sum, )"
            R"(body: "x[n, c, 2*y + r - 3, 2*x + s - 3 : guard 0] * w[o, c, r, s]"}
)");
}

TEST(TextGraph, ComesBack) {
  expect_comes_back(samples::matmul(7, 5, 3));
  Graph g = samples::conv({3, 5, 11, 7, 2, 3});
  g.tensors[1].name = "weights/of: [conv] \"1\"\n";
  g.nodes[0].axes[4].name = "c'\\";
  g.name = "";
  expect_comes_back(g);
}

TEST(TextGraph, ReadsInAnotherOrderThanTheBodys) {
  Graph g = samples::matmul(7, 5, 3);
  g.nodes[0].body = apply(ScalarOp::mul, {read(1), read(0)});
  expect_comes_back(g);
  g.nodes[0].reads.push_back(g.nodes[0].reads[0]);  // unused, and equal to another
  expect_comes_back(g);
  g = samples::conv({1, 1, 3, 3, 1, 1});
  g.nodes[0].reads[0].fill = -std::numeric_limits<double>::infinity();
  expect_comes_back(g);
}

TEST(TextGraph, SmallConstantsByValue) {
  Graph g = samples::matmul(2, 2, 2);
  g.inputs = {0};
  g.tensors[1].constant = 1;
  g.constants.resize(2);
  g.constants[1].bytes = bytes_of_doubles(DType::f32, std::vector<double>{0.1, -2, 1e-7, 3});
  expect_comes_back(g);
  g.constants[1].bytes = bytes_of_doubles(DType::f32, std::vector<double>{NAN, -2, 1e-7, 3});
  const Result<Graph> back = parse_graph(print_graph(g), "g.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags());
  EXPECT_TRUE(back.value().constants[1].bytes.empty());
  g.constants[1].bytes.clear();
  EXPECT_EQ(back.value(), g);
}

TEST(TextGraph, FaultsHavePlaceCaretAndHint) {
  EXPECT_EQ(faults_of(with(kMatmul, "a[m, k]", "a[m, q]")),
            R"(g.yaml:5:77: error: there is no axis q
    - {op: matmul, out: "c[m, n]", axes: {m: 128, n: 256, k: 64}, body: "a[m, q] * b[k, n]"}
                                                                              ^
hint: known here: m, n, k
)");
  EXPECT_NE(faults_of(with(kMatmul, "body:", "bodi:")).find("did you mean body?"),
            std::string::npos);
  EXPECT_NE(faults_of(with(kMatmul, "k: 64", "k: 99999999999999")).find("expected 1 to"),
            std::string::npos);
  EXPECT_NE(
      faults_of(with(kMatmul, "k: 64", "k: many")).find("found many, expected a whole number"),
      std::string::npos);
  EXPECT_NE(faults_of(with(kMatmul, "a[m, k]", "a[m]")).find("reads a with 1 indices, it has 2"),
            std::string::npos);
  EXPECT_NE(faults_of(with(kMatmul, "k: 64", "k: 65")).find("is read at 0 to 64, it has 0 to 63"),
            std::string::npos);
  EXPECT_NE(faults_of(with(kMatmul, "128x64", "128x0")).find("expected an extent from 1"),
            std::string::npos);
  EXPECT_NE(faults_of(with(kMatmul, "f32 128", "f31 128")).find("unknown dtype"),
            std::string::npos);
  EXPECT_NE(faults_of(with(kMatmul, "[c]", "[d]")).find("there is no tensor d"), std::string::npos);
  EXPECT_NE(faults_of(with(kMatmul, "graph/1", "graph/2")).find("expected schema: assay/graph/1"),
            std::string::npos);
}

constexpr const char* kLookup = R"(schema: assay/graph/1
name: words
inputs: {table: f32 100x8, ids: f32 2x5, more: f32 5}
nodes:
  - {op: gather, out: "y[b, t, j]", axes: {b: 2, t: 5, j: 8}, )"
                                R"(body: "table[ids[b, t], j] + table[more[t], 2] * ids[b, t]"}
outputs: [y]
)";

TEST(TextGraph, LookupsComeBackNestedAndByNumber) {
  Result<Graph> g = parse_graph(kLookup, "words.yaml");
  ASSERT_TRUE(g.ok()) << render(g.diags());
  Node& n = g->nodes[0];
  ASSERT_EQ(n.reads.size(), 4u);
  EXPECT_EQ(n.reads[1].lookup, (Lookup{0, 0}));
  EXPECT_EQ(n.reads[3].lookup, (Lookup{0, 2}));
  EXPECT_EQ(print_node(*g, n), "y[b, t, j] = table[ids[b, t], j] + table[more[t], 2] * ids[b, t]");
  expect_comes_back(*g);
  std::swap(n.reads[0], n.reads[2]);  // in another order than the body's
  n.reads[1].lookup->read = 2;
  n.reads[3].lookup->read = 0;
  n.body.args[1].args[1] = read(2);
  EXPECT_NE(print_graph(*g).find("table[$2, j]"), std::string::npos) << print_graph(*g);
  expect_comes_back(*g);
}

TEST(TextGraph, LookupsThatCanNotBe) {
  const auto faults = [](const std::string& from, const std::string& to) {
    return faults_of(with(kLookup, from, to));
  };
  EXPECT_NE(faults("table[ids[b, t], j]", "table[ids[more[t], t], j]")
                .find("can not look something up itself"),
            std::string::npos);
  EXPECT_NE(faults("table[ids[b, t], j]", "table[ids[b, t], more[t]]").find("only one dimension"),
            std::string::npos);
  EXPECT_NE(faults("table[ids[b, t], j]", "table[$7, j]").find("looks up read 7, the node has"),
            std::string::npos);
  EXPECT_NE(faults("table[ids[b, t], j]", "table[ids[b], j]").find("reads ids with 1 indices"),
            std::string::npos);
  EXPECT_NE(faults("ids[b, t], j]", "words[b, t], j]").find("there is no tensor words"),
            std::string::npos);
  std::string deep = "table[";
  for (int i = 0; i < 100000; ++i) deep += "ids[";
  EXPECT_NE(faults("table[ids[b, t], j]", deep), "");
}

TEST(TextGraph, AllFaultsAtOnce) {
  const std::string text = with(with(kMatmul, "a[m, k]", "a[m, q]"), "[c]", "[d, e]");
  const Result<Graph> g = parse_graph(text, "g.yaml");
  ASSERT_FALSE(g.ok());
  EXPECT_EQ(g.diags().size(), 3u);
}

constexpr const char* kDamage = "{}[]:,\"'-+*/%()$0123456789xyncors \n#&!.\\";

TEST(TextGraph, TruncatedAndDamagedTextGivesErrorsOrAGraph) {
  std::mt19937 random(3);
  const std::string alphabet = kDamage;
  const std::string whole = print_graph(samples::conv({3, 5, 11, 7, 2, 3})) +
                            print_graph(samples::matmul(3, 4, 5)).substr(30) +
                            std::string(kLookup).substr(60);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole.substr(0, 30 + random() % (whole.size() - 30));
    for (int k = 0; k < 4; ++k) text[random() % text.size()] = alphabet[random() % alphabet.size()];
    samples::expect_errors_or_round_trip(parse_graph(text, "g.yaml"));
  }
}

TEST(TextGraph, DamagedTextGivesErrorsOrAGraph) {
  std::mt19937 random(4);
  const std::string alphabet = kDamage;
  const std::string whole[] = {print_graph(samples::conv({3, 5, 11, 7, 2, 3})), kMatmul, kLookup};
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole[i % 3];
    for (int k = 0; k < 1 + i % 2; ++k)
      text[random() % text.size()] = alphabet[random() % alphabet.size()];
    accepted += samples::expect_errors_or_round_trip(parse_graph(text, "g.yaml"));
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 2900);
}

Program tiled_matmul() {
  Program p;
  p.name = "mm 8x16";
  p.graph = samples::matmul(64, 64, 32);
  p.layouts = {row_major(2), blocked(2, 1, 16), row_major(2)};
  p.tiles = {{"l2", {32, 64, 32}, {1, 0, 2}}, {"registers", {8, 16, 1}, {0, 1, 2}}};
  p.vector_axis = 1;
  p.vector_width = 16;
  return p;
}

void expect_comes_back(const Program& p) {
  const std::string text = print_program(p);
  const Result<Program> back = parse_program(text, "p.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags()) << text;
  EXPECT_EQ(back.value(), p) << text;
  EXPECT_EQ(print_program(back.value()), text);
  EXPECT_EQ(hash_of(back.value()), hash_of(p));
}

TEST(TextProgram, ComesBack) {
  Program p = tiled_matmul();
  expect_comes_back(p);
  p.staging = {{1, 0, blocked(2, 1, 16)}};
  p.prefetch = 4;
  expect_comes_back(p);
}

TEST(TextProgram, AnEpilogueComesBack) {
  Program p = tiled_matmul();
  const int d = samples::add_tensor(p.graph, "d", {64, 64});
  p.graph.nodes.push_back({"relu",
                           "relu",
                           {{"i", 64}, {"j", 64}},
                           d,
                           {{2, {variable(0), variable(1)}, false, 0}},
                           apply(ScalarOp::max, {read(0), number(0)}),
                           Combiner::none});
  p.graph.outputs = {d};
  p.layouts.push_back(row_major(2));
  p.edges = {{0, 1, "registers"}};
  expect_comes_back(p);
}

TEST(TextProgram, FaultsNameTheField) {
  std::string text = print_program(tiled_matmul());
  text = with(with(text, "order: [n, m, k]", "order: [n, p, k]"), "width: 16", "width: -1");
  const Result<Program> p = parse_program(text, "p.yaml");
  ASSERT_FALSE(p.ok());
  EXPECT_NE(render(p.diags()).find("there is no axis p"), std::string::npos);
  EXPECT_NE(render(p.diags()).find("found -1, expected 1 to"), std::string::npos);
}

TEST(TextProgram, DamagedTextGivesErrorsOrAProgram) {
  std::mt19937 random(5);
  const std::string whole = print_program(tiled_matmul());
  const std::string alphabet = "{}[]:,\"-+*/%()0123456789mnkabc ";
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (int k = 0; k < 1 + i % 3; ++k)
      text[30 + random() % (text.size() - 30)] = alphabet[random() % alphabet.size()];
    accepted += samples::expect_errors_or_round_trip(parse_program(text, "p.yaml"));
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 2900);
}

}  // namespace
}  // namespace assay::ir
