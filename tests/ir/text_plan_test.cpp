#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  plan.steps = {{"mm", 0, {0, 1, 2}}};
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

// The same product over halves of the rows, each a part of both tensors.
Plan plan_of_parts() {
  Plan plan = small_plan();
  plan.programs[0].graph = samples::matmul(32, 64, 32);
  plan.steps = {{"upper", 0, {0, 1, 2}, "", {0, 0, 0}},
                {"lower", 0, {0, 1, 2}, "", {32 * 32, 0, 32 * 64}}};
  return plan;
}

TEST(TextPlan, PartsOfTensorsComeBack) {
  const Plan plan = plan_of_parts();
  ASSERT_EQ(render(verify(plan)), "");
  const std::string text = print_plan(plan);
  EXPECT_THAT(text, testing::HasSubstr("arguments: [0, 1, 2], begins: [1024, 0, 2048]"));
  const Result<Plan> back = parse_plan(text, "plan.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags()) << text;
  EXPECT_EQ(back.value(), plan) << text;
  EXPECT_EQ(bytes_of_argument(plan, plan.steps[1], 2),
            std::pair(plan.tensors[2].offset + 32 * 64 * 4, plan.tensors[2].offset + 64 * 64 * 4));
  EXPECT_EQ(bytes_of_argument(small_plan(), small_plan().steps[0], 0),
            std::pair(int64_t{0}, int64_t{64 * 32 * 4}));
}

TEST(TextPlan, PartsLieInsideTheirTensors) {
  const auto fault = [](std::vector<int64_t> begins) {
    Plan plan = plan_of_parts();
    plan.steps[1].begins = std::move(begins);
    return render(verify(plan));
  };
  using testing::HasSubstr;
  EXPECT_THAT(fault({32 * 32 + 16, 0, 0}), HasSubstr("no part of tensor a from element 1040"));
  EXPECT_THAT(fault({8, 0, 0}), HasSubstr("multiple of 64 bytes"));
  EXPECT_THAT(fault({0, 0, -16}), HasSubstr("no part of tensor c"));
  EXPECT_THAT(fault({0, 0}), HasSubstr("step lower has 2 begins for its 3 arguments"));
  EXPECT_THAT(fault({}), HasSubstr("does not have the shape and layout its program expects"));
  Plan padded = plan_of_parts();
  padded.tensors[0].layout.pad = {{0, 1}, {0, 0}};
  padded.tensors[0].bytes += 128;
  EXPECT_THAT(render(verify(padded)), HasSubstr("neither may have padding"));
}

TEST(TextPlan, ConditionsComeBackAndNameTensors) {
  Plan plan = small_plan();
  plan.steps[0].needed_if = NeededIf{1, false};
  const std::string text = print_plan(plan);
  EXPECT_THAT(text, testing::HasSubstr("needed_if: {tensor: 1, value: false}"));
  const Result<Plan> back = parse_plan(text, "plan.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags()) << text;
  EXPECT_EQ(back.value(), plan) << text;
  plan.steps[0].needed_if->tensor = 3;
  EXPECT_THAT(render(verify(plan)), testing::HasSubstr("needed by a tensor that does not exist"));
}

// The same product in two strips of rows; b is packed, and uploaded once.
Plan limited_plan() {
  Plan plan = small_plan();
  plan.programs[0].graph = samples::matmul(32, 64, 32);
  plan.programs[0].tiles = {{"l2", {32, 64, 32}, {1, 0, 2}}, {"registers", {8, 16, 1}, {0, 1, 2}}};
  const int64_t a = 32 * 32 * 4, b = 32 * 64 * 4, c = 32 * 64 * 4;
  plan.tensors = {
      {"a", DType::f32, {64, 32}, row_major(2), TensorKind::input, 0, 2 * a, false, true},
      {"b", DType::f32, {32, 64}, blocked(2, 1, 16), TensorKind::constant, 0, b, false, true},
      {"c", DType::f32, {64, 64}, row_major(2), TensorKind::output, 2 * a, 2 * c, false, true},
      {"a", DType::f32, {32, 32}, row_major(2), TensorKind::temporary, 0, a},
      {"b", DType::f32, {32, 64}, blocked(2, 1, 16), TensorKind::temporary, a, b},
      {"c", DType::f32, {32, 64}, row_major(2), TensorKind::temporary, a + b, c, true}};
  plan.steps = {{"mm", 0, {3, 4, 5}}, {"mm", 0, {3, 4, 5}}};
  using Way = Transfer::Way;
  plan.transfers = {{Way::clear, 0, 5, -1, {}},      {Way::upload, 0, 4, 1, {0, 0}},
                    {Way::upload, 0, 3, 0, {0, 0}},  {Way::download, 1, 5, 2, {0, 0}},
                    {Way::upload, 1, 3, 0, {32, 0}}, {Way::download, 2, 5, 2, {32, 0}}};
  plan.memory = plan.arena_bytes = a + b + c;
  plan.weights_bytes = 0;
  plan.host_weights_bytes = b;
  plan.host_bytes = 2 * a + 2 * c;
  return plan;
}

TEST(TextPlan, PlansForALimitOfMemoryComeBack) {
  const Plan plan = limited_plan();
  ASSERT_EQ(render(verify(plan)), "");
  const std::string text = print_plan(plan);
  const Result<Plan> back = parse_plan(text, "plan.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags()) << text;
  EXPECT_EQ(back.value(), plan) << text;
  EXPECT_EQ(print_plan(back.value()), text);
  EXPECT_EQ(bytes_of(plan, plan.transfers[2]), 32 * 32 * 4);
  EXPECT_EQ(transfers_before(plan, 1), (std::pair<size_t, size_t>{3, 5}));
}

// What is wrong with a transfer is said where the transfer stands.
TEST(TextPlan, TransfersAreRefusedAtTheirPlace) {
  const std::string whole = print_plan(limited_plan());
  const auto line_of = [&](const std::string& part) {
    return std::count(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(whole.find(part)),
                      '\n') +
           1;
  };
  const std::string last = "{way: download, step: 2, device: 5, host: 2, begin: [32, 0]}";
  for (const auto& [wrong, why] : std::vector<std::pair<std::string, std::string>>{
           {"{way: upload, step: 2, device: 5, host: 2, begin: [33, 0]}", "does not lie inside"},
           {"{way: download, step: 2, device: 5, host: 2, begin: [32]}", "dimensions"},
           {"{way: download, step: 2, device: 5, host: 0, begin: [32, 0]}", "never written"},
           {"{way: download, step: 2, device: 5, host: 3, begin: [0, 0]}", "not lie in host"},
           {"{way: upload, step: 2, device: 2, host: 2, begin: [0, 0]}", "of the device's arena"},
           {"{way: upload, step: 2, device: 3, host: 1, begin: [0, 0]}", "packed"},
           {"{way: clear, step: 2, device: 3, host: 1, begin: [0, 0]}", "no host tensor"},
           {"{way: sideways, step: 2, device: 3}", "way of a transfer"},
           {"{way: clear, step: 3, device: 3}", "3"},
           {"{way: clear, step: 2, device: 6}", "6"},
           {"{way: clear, step: 2}", "device"}}) {
    std::string text = whole;
    text.replace(text.find(last), last.size(), wrong);
    const Result<Plan> plan = parse_plan(text, "plan.yaml");
    ASSERT_FALSE(plan.ok()) << wrong;
    const std::string faults = render(plan.diags());
    EXPECT_NE(faults.find(why), std::string::npos) << wrong << faults;
    EXPECT_NE(faults.find("plan.yaml:" + std::to_string(line_of(last)) + ":"), std::string::npos)
        << wrong << faults;
  }
}

TEST(TextPlan, PlansForALimitKeepIt) {
  const auto fault_of = [](const auto& change) {
    Plan plan = limited_plan();
    change(plan);
    return render(verify(plan));
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(fault_of([](Plan& p) { p.memory -= 1; }), HasSubstr("more than `memory`"));
  EXPECT_THAT(fault_of([](Plan& p) { p.memory = 0; }), HasSubstr("no limit `memory`"));
  EXPECT_THAT(fault_of([](Plan& p) { std::swap(p.transfers[2], p.transfers[3]); }),
              HasSubstr("order of steps"));
  EXPECT_THAT(fault_of([](Plan& p) { p.tensors[5].host = true; }),
              HasSubstr("lies in host memory"));
  EXPECT_THAT(fault_of([](Plan& p) {
                p.transfers[2].host = 2, p.tensors[2].shape = {64, 32};
              }),
              HasSubstr("before anything was downloaded"));
  EXPECT_THAT(fault_of([](Plan& p) { p.host_bytes -= 1; }), HasSubstr("not lie inside"));
  EXPECT_THAT(fault_of([](Plan& p) { p.host_weights_bytes -= 1; }), HasSubstr("not lie inside"));
  std::string unlimited = print_plan(small_plan());
  unlimited.insert(unlimited.find("tensors:"), "host_bytes: 100\n");
  const Result<Plan> plan = parse_plan(unlimited, "plan.yaml");
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(render(plan.diags()), HasSubstr("`host_bytes` is of plans for a limit of memory"));
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
  for (const Plan& plan : {small_plan(), limited_plan()}) {
    const std::string whole = print_plan(plan);
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
}

}  // namespace
}  // namespace assay::ir
