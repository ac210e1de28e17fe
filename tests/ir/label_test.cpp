// Labels of steps: made from a chain, printed with the plan and parsed back.
#include "ir/label.h"

#include <gtest/gtest.h>

#include "ir/plan.h"
#include "tests/ir/graph_samples.h"

namespace assay::ir {
namespace {

Plan plan_with_label(const std::string& label) {
  Plan plan;
  Program p;
  p.name = "mm";
  p.graph = samples::matmul(8, 8, 4);
  p.layouts = {row_major(2), row_major(2), row_major(2)};
  p.tiles = {{"registers", {8, 8, 4}, {0, 1, 2}}};
  plan.programs = {p};
  plan.tensors = {{"a", DType::f32, {8, 4}, row_major(2), TensorKind::input, 0, 128, false},
                  {"b", DType::f32, {4, 8}, row_major(2), TensorKind::input, 128, 128, false},
                  {"c", DType::f32, {8, 8}, row_major(2), TensorKind::output, 256, 256, false}};
  plan.arena_bytes = 512;
  plan.steps = {{"n7", 0, {0, 1, 2}, label}};
  return plan;
}

TEST(Label, ComesBackWithThePlan) {
  for (const char* label :
       {"", "conv 64x56x56 3x3 (res2a) + bias + relu", "add 2 (a: 'b', \"c\" {d}) # e"}) {
    const Plan plan = plan_with_label(label);
    const std::string text = print_plan(plan);
    const Result<Plan> back = parse_plan(text, "plan.yaml");
    ASSERT_TRUE(back.ok()) << render(back.diags()) << text;
    EXPECT_EQ(back.value(), plan) << text;
    EXPECT_EQ(print_plan(back.value()), text);
    EXPECT_EQ(text.find("label:") != std::string::npos, *label != '\0') << text;
  }
}

TEST(Label, TablesShowTheNameOfAStepWithoutOne) {
  EXPECT_EQ(display_name(plan_with_label("").steps[0]), "n7");
  EXPECT_EQ(display_name(plan_with_label("relu 4").steps[0]), "relu 4");
}

TEST(Label, AChainIsItsFirstNodeThenTheOperatorsOfItsEpilogue) {
  Graph g = samples::matmul(128, 64, 32);
  EXPECT_EQ(label_of(g, "MatMul_7"), "matmul 128x64x32 (MatMul_7)");
  EXPECT_EQ(label_of(g, "matmul"), "matmul 128x64x32") << "the name says no more";
  EXPECT_EQ(label_of(g, ""), "matmul 128x64x32");
  for (const char* op : {"bias", "relu"}) {
    Node n;
    n.op = op;
    n.axes = {{"i", 128}, {"j", 64}};
    n.output = g.nodes[0].output;
    g.nodes.push_back(n);
  }
  EXPECT_EQ(label_of(g, "MatMul_7"), "matmul 128x64x32 (MatMul_7) + bias + relu");
  EXPECT_EQ(label_of(g, g.nodes[2]), "relu 128x64");
}

}  // namespace
}  // namespace assay::ir
