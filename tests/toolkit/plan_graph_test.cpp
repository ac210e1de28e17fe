// Plans as graphs and as pictures, against what is written here by hand.
#include "toolkit/plan_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <tuple>

#include "support/process/process.h"
#include "toolkit/plan_picture.h"

namespace assay::toolkit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

// from, to, memory, bytes there, bytes of the tensor
using Row = std::tuple<std::string, std::string, std::string, int64_t, int64_t>;

std::vector<Row> rows_of(const DrawnPlan& plan) {
  std::vector<Row> out;
  for (const DrawnEdge& e : plan.edges)
    out.emplace_back(plan.nodes[static_cast<size_t>(e.from)].lines[0],
                     plan.nodes[static_cast<size_t>(e.to)].lines[0], e.memory, e.bytes, e.whole);
  return out;
}

ir::PlanTensor tensor(const std::string& name, std::vector<int64_t> shape, ir::TensorKind kind) {
  ir::PlanTensor t;
  t.name = name;
  t.layout = ir::row_major(static_cast<int>(shape.size()));
  t.bytes = 4;
  for (const int64_t extent : shape) t.bytes *= extent;
  t.shape = std::move(shape);
  t.kind = kind;
  return t;
}

// One step, of the attention that examples/ has: p[0], v, q, k are read, o is written.
ir::Plan attention() {
  const std::string path = ASSAY_SOURCE_DIR "/examples/tile-graph-attention.yaml";
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  ir::Plan plan;
  plan.programs = {*ir::parse_program(text, path)};
  const std::vector<int> arguments = ir::arguments_of(plan.programs[0]);
  ir::Step step{"attention", 0, {}, ""};
  for (const int a : arguments) {
    const ir::Tensor& t = plan.programs[0].graph.tensors[static_cast<size_t>(a)];
    step.arguments.push_back(static_cast<int>(plan.tensors.size()));
    plan.tensors.push_back(tensor(t.name, t.shape,
                                  t.name == "o"   ? ir::TensorKind::output
                                  : t.name == "v" ? ir::TensorKind::constant
                                                  : ir::TensorKind::input));
  }
  plan.steps = {step};
  return plan;
}

constexpr int64_t kRows = 12 * 512 * 64 * 4, kScores = 12 * 512 * 512 * 4, kSums = 12 * 512 * 4,
                  kScoresTile = 64 * 512 * 4, kSumsTile = 64 * 4;

TEST(PlanGraph, EdgesSayWhereTensorsLie) {
  const ir::Plan plan = attention();
  const DrawnPlan d = drawn(plan, {{"l3", "l3", "l3", "l3"}}, "dram", Detail::programs);
  EXPECT_THAT(rows_of(d),
              UnorderedElementsAre(
                  Row("q", "matmul 12x512x512x64", "l3", kRows, kRows),
                  Row("k", "matmul 12x512x512x64", "l3", kRows, kRows),
                  Row("matmul 12x512x512x64", "reduce_max 12x512", "l2", kScoresTile, kScores),
                  Row("matmul 12x512x512x64", "exp 12x512x512", "l2", kScoresTile, kScores),
                  Row("reduce_max 12x512", "exp 12x512x512", "l2", kSumsTile, kSums),
                  Row("exp 12x512x512", "reduce_sum 12x512", "l2", kScoresTile, kScores),
                  Row("exp 12x512x512", "matmul 12x512x64x512", "l2", kScoresTile, kScores),
                  Row("reduce_sum 12x512", "matmul 12x512x64x512", "l2", kSumsTile, kSums),
                  Row("matmul 12x512x64x512", "o", "dram", kRows, kRows)));
  for (const DrawnNode& n : d.nodes)
    EXPECT_EQ(n.constant_bytes, n.lines[0] == "matmul 12x512x64x512" ? kRows : 0) << n.lines[0];
}

TEST(PlanGraph, NodesOfAProgramPassValuesInRegisters) {
  const ir::Plan plan = attention();
  const auto rows = rows_of(drawn(plan, {{"l3", "l3", "l3", "l3"}}, "dram", Detail::nodes));
  EXPECT_THAT(rows,
              testing::IsSupersetOf(
                  {Row("matmul 12x512x512x64", "mul 12x512x512", "registers", kScores, kScores),
                   Row("matmul 12x512x64x512", "div 12x512x64", "registers", kRows, kRows),
                   Row("reduce_sum 12x512", "div 12x512x64", "l2", kSumsTile, kSums),
                   Row("mul 12x512x512", "exp 12x512x512", "l2", kScoresTile, kScores)}));
}

// Steps of one operand each: (program, read, written) by number of the tensor.
struct Link {
  int program, read, written;
};
ir::Plan chain(const std::vector<Link>& links) {
  ir::Plan plan;
  for (const Link& l : links) plan.steps.push_back({"", l.program, {l.read, l.written}, ""});
  ir::Program one;
  one.graph.outputs = {0};
  plan.programs.assign(10, one);
  return plan;
}

TEST(Repeats, LayersThatReadEachOther) {
  // 9, then four times 1 2, then 3.
  EXPECT_THAT(repeats_of(chain({{9, 0, 1},
                                {1, 1, 2},
                                {2, 2, 3},
                                {1, 3, 4},
                                {2, 4, 5},
                                {1, 5, 6},
                                {2, 6, 7},
                                {1, 7, 8},
                                {2, 8, 9},
                                {3, 9, 10}})),
              ElementsAre(Repeats{1, 2, 4}));
  EXPECT_THAT(repeats_of(chain({{1, 0, 1}, {2, 1, 2}, {3, 2, 3}})), IsEmpty());
  EXPECT_THAT(repeats_of(chain({})), IsEmpty());
}

// Three products of one tensor, as of queries, keys and values, are no layers.
TEST(Repeats, StepsSideBySideAreNone) {
  EXPECT_THAT(repeats_of(chain({{1, 0, 1}, {1, 0, 2}, {1, 0, 3}})), IsEmpty());
}

DrawnPlan one_node(const std::string& name) {
  return {{{DrawnNode::Role::input, -1, {name}, 0}, {DrawnNode::Role::computes, 0, {"relu"}, 0}},
          {{0, 1, "l1", 4, 4}}};
}

TEST(Picture, NamesAreTextAndNothingElse) {
  const std::string name = "a\"] n9 [label=\"x\\ </text><script>alert(1)</script>&amp;\n\x01\xff";
  const PlanPicture picture{"after", {"1 s"}, {0}, {}};
  const std::string dot = dot_text(one_node(name), picture);
  EXPECT_THAT(dot, Not(HasSubstr("<script")));
  const std::string graphviz = process::find_program("dot");
  if (graphviz.empty()) GTEST_SKIP() << "no Graphviz here: scripts/bootstrap.sh installs it";
  const process::Filtered svg = process::filter({graphviz, "-Tsvg"}, dot);
  ASSERT_TRUE(svg.outcome.good()) << svg.messages << dot;
  EXPECT_EQ(svg.messages, "");
  EXPECT_THAT(svg.output, Not(HasSubstr("<script")));
  EXPECT_THAT(svg.output, Not(HasSubstr(">n9<")));
  EXPECT_THAT(svg.output, HasSubstr("a&quot;] n9 [label=&quot;x\\ &lt;/text&gt;&lt;script&gt;"));
}

TEST(Picture, RepetitionsAreDrawnOnce) {
  DrawnPlan d;
  for (int s = 0; s < 6; ++s) {
    d.nodes.push_back({DrawnNode::Role::computes, s, {"relu"}, 0});
    if (s > 0) d.edges.push_back({s - 1, s, "l2", 4, 4});
  }
  const PlanPicture picture{
      "after", std::vector<std::string>(6, "1 s"), std::vector<int>(6, 0), {{1, 2, 2}}};
  const std::string dot = dot_text(d, picture);
  EXPECT_THAT(dot, HasSubstr("2 times: steps 2 to 3, and so on to 5"));
  for (const char* drawn : {"n0 -> n1 ", "n1 -> n2 ", "n2 -> n5 "})
    EXPECT_THAT(dot, HasSubstr(drawn));
  EXPECT_THAT(dot, testing::ContainsRegex("n2 -> n1 .*next: .*constraint=false"));
  for (const char* hidden : {"n3", "n4", "after_4", "after_5"})
    EXPECT_THAT(dot, Not(HasSubstr(hidden)));
}

}  // namespace
}  // namespace assay::toolkit
