#include <gtest/gtest.h>

#include <random>

#include "ir/plan.h"
#include "tests/ir/damaged_input.h"
#include "tests/ir/graph_samples.h"

namespace assay::ir {
namespace {

Plan small_plan() {
  Plan plan;
  plan.name = "two matmuls";
  plan.units = 2;
  Program p;
  p.name = "mm";
  p.graph = samples::matmul(64, 64, 32);
  p.layouts = {row_major(2), blocked(2, 1, 16), row_major(2)};
  p.tiles = {{"l2", {32, 64, 32}, {1, 0, 2}}, {"registers", {8, 16, 1}, {0, 1, 2}}};
  p.vector_axis = 1;
  p.vector_width = 16;
  plan.programs = {p};
  const int64_t a = 64 * 32 * 4, b = 32 * 64 * 4, c = 64 * 64 * 4;
  plan.tensors = {{"a", DType::f32, {64, 32}, row_major(2), TensorKind::input, 0, a, false},
                  {"b", DType::f32, {32, 64}, blocked(2, 1, 16), TensorKind::constant, 0, b, false},
                  {"c", DType::f32, {64, 64}, row_major(2), TensorKind::output, a, c, false}};
  plan.steps = {{"mm", 0, {0, 1, 2}, {{0, 0, 1}, {1, 1, 2}}}};
  plan.arena_bytes = a + c;
  plan.weights_bytes = b;
  return plan;
}

TEST(TextPlan, ComesBack) {
  const Plan plan = small_plan();
  ASSERT_EQ(render(verify(plan)), "");
  const std::string text = print_plan(plan);
  const Result<Plan> back = parse_plan(text, "plan.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags()) << text;
  EXPECT_EQ(back.value(), plan) << text;
  EXPECT_EQ(print_plan(back.value()), text);
  EXPECT_EQ(hash_of(back.value()), hash_of(plan));
}

TEST(TextPlan, LayoutsFitTheirTensors) {
  const std::string whole = print_plan(small_plan());
  for (const char* layout :
       {"[0, 1, 2]", "[0]", "[0, 1] pad 2:1,1", "[0, 1, 1, 1, 1] pad 1:0,1099511627776"}) {
    std::string text = whole;
    text.replace(text.find("[0, 1]\", offset"), 6, layout);
    const Result<Plan> plan = parse_plan(text, "plan.yaml");
    ASSERT_FALSE(plan.ok()) << layout;
    EXPECT_NE(render(plan.diags()).find("the layout "), std::string::npos) << render(plan.diags());
  }
}

TEST(TextPlan, DamagedTextGivesErrorsOrAPlan) {
  std::mt19937 random(9);
  const std::string whole = print_plan(small_plan());
  const std::string alphabet = "{}[]:,\"-+*/%()0123456789mnkabc ";
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole;
    for (int k = 0; k < 1 + i % 3; ++k)
      text[30 + random() % (text.size() - 30)] = alphabet[random() % alphabet.size()];
    accepted += samples::expect_errors_or_round_trip(parse_plan(text, "plan.yaml"));
  }
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 1980);
}

}  // namespace
}  // namespace assay::ir
