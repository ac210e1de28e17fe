// What makes a program ill-formed beyond its tiles: edges, epilogues and stages that nothing
// honours.
#include "ir/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::ir {
namespace {

using testing::HasSubstr;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// A product with a bias behind it.
std::string biased(const std::string& from = "", const std::string& to = "") {
  const std::string text = R"yaml(schema: assay/program/1
name: biased
graph:
  name: biased
  tensors: {a: f32 16x16, b: f32 16x16, c: f32 16x16, v: f32 16, y: f32 16x16}
  inputs: [a, b, v]
  outputs: [y]
  nodes:
    - {name: mm, op: matmul, out: "c[m, n]", axes: {m: 16, n: 16, k: 16}, combine: sum,
       body: "a[m, k] * b[k, n]"}
    - {name: bias, op: bias, out: "y[m, n]", axes: {m: 16, n: 16}, body: "c[m, n] + v[n]"}
edges: [{from: 0, to: 1, level: registers}]
tiles:
  - {memory: l1, extent: {m: 16, n: 16, k: 16}, order: [m, n]}
  - {memory: registers, extent: {m: 4, n: 8, k: 1}, order: [m, n, k]}
vector: {axis: n, width: 8}
)yaml";
  return from.empty() ? text : replaced(text, from, to);
}

std::string faults(const std::string& text) {
  const Result<Program> p = parse_program(text, "p.yaml");
  return p.ok() ? "" : render(p.diags());
}

TEST(Program, AnEdgeInAnotherMemoryIsRefusedWhereItStands) {
  ASSERT_EQ(faults(biased()), "");
  const std::string text = faults(biased("level: registers", "level: l2"));
  EXPECT_THAT(text, HasSubstr("p.yaml:12:33: error: level: found 'l2', expected registers"));
  Program p = *parse_program(biased(), "p.yaml");
  p.edges[0].level = "shared";
  EXPECT_THAT(render(verify(p)), HasSubstr("edge 0 -> 1: level 'shared'"));
}

TEST(Program, ANodeBehindTheAnchorMayNotReduce) {
  const std::string text = faults(
      replaced(biased("bias, op: bias, out: \"y[m, n]\", axes: {m: 16, n: 16}, body: \"c[m, n]",
                      "sums, op: sum, out: \"y[m, n]\", axes: {m: 16, n: 16, j: 4}, combine: sum, "
                      "body: \"c[m, n]"),
               "v[n]\"", "v[j]\""));
  EXPECT_THAT(text,
              HasSubstr("node sums is not elementwise, and only such nodes can follow the anchor"));
}

TEST(Program, AnEpilogueReadsItsOwnElementOnly) {
  EXPECT_THAT(faults(biased("\"c[m, n] + v[n]\"", "\"c[n, m] + v[n]\"")),
              HasSubstr("node bias reads other elements of c than the one it computes"));
  EXPECT_THAT(faults(biased("\"c[m, n] + v[n]\"", "\"a[m, n] + v[n]\"")),
              HasSubstr("node bias does not read c"));
  EXPECT_THAT(faults(biased("outputs: [y]", "outputs: [c]")),
              HasSubstr("the output is not what the last node computes"));
}

TEST(Program, StagesAreOfSomethingStaged) {
  EXPECT_THAT(faults(biased() + "pipeline_stages: 3\n"),
              HasSubstr("pipeline_stages 3: stages are of staged copies, and nothing is staged"));
  EXPECT_EQ(
      faults(biased() + "staging: [{read: 1, level: 0, layout: \"[0, 1]\"}]\npipeline_stages: 3\n"),
      "");
}

}  // namespace
}  // namespace assay::ir
