// Steps of the branch that is not taken are left out, and results stay the same.
#include "compiler/passes/mark_needed.h"

#include <gtest/gtest.h>

#include <random>

#include "simulator/estimate.h"
#include "tests/compiler/graph_builder.h"

namespace assay::test {
namespace {

struct Branches : Builder {
  std::mt19937 rng{3};
  int condition = input({1});
  int x = input({8, 32});

  int product(int from, int64_t columns) { return Builder::product(from, columns, rng); }
  int chosen(int yes, int no, int by) {
    return node("where", shape(yes), {},
                {at(by, {ir::constant(0)}), at(yes, own(2)), at(no, own(2))},
                ir::apply(ir::ScalarOp::select, {ir::read(0), ir::read(1), ir::read(2)}));
  }
};

hwdesc::Target target_with_conditions() {
  hwdesc::Target t = small_cpu(8, 2);
  t.dialect.conditions = true;
  return t;
}

// Runs it on both sides of the condition, in an arena of NaN. Returns the plan.
ir::Plan check_sides(Branches& b, const compiler::Options& options = one_by_one()) {
  ir::Plan plan;
  for (const float condition : {0.0F, 1.0F}) {
    std::vector<Floats> inputs = {{condition}, random_floats(b.rng, 8 * 32)};
    const auto want = ir::evaluate(b.g, inputs);
    EXPECT_TRUE(want.ok()) << render(want.diags());
    plan = check_on(target_with_conditions(), b.g, inputs, *want, options);
  }
  return plan;
}

std::vector<std::string> needed_if(const ir::Plan& plan, bool value) {
  std::vector<std::string> out;
  for (const ir::Step& s : plan.steps)
    if (s.needed_if && s.needed_if->value == value) out.push_back(s.name);
  return out;
}

TEST(MarkNeeded, BothBranchesOfAnIf) {
  Branches b;
  const int before = b.product(b.x, 32);
  const int yes = b.product(b.product(before, 64), 32), no = b.product(b.product(before, 48), 32);
  b.g.outputs = {b.product(b.chosen(yes, no, b.condition), 16)};
  const ir::Plan plan = check_sides(b);
  // The last of one side computes the choice as well.
  EXPECT_EQ(needed_if(plan, true).size() + needed_if(plan, false).size(), 3U);
  EXPECT_FALSE(needed_if(plan, true).empty());
  EXPECT_FALSE(needed_if(plan, false).empty());
  EXPECT_FALSE(plan.steps[0].needed_if) << "both branches read it";
}

TEST(MarkNeeded, WhatIsReadElsewhereToo) {
  Branches b;
  const int yes = b.product(b.product(b.x, 64), 32), no = b.product(b.product(b.x, 48), 32);
  b.g.outputs = {b.chosen(yes, no, b.condition), yes};
  const ir::Plan plan = check_sides(b);
  EXPECT_TRUE(needed_if(plan, true).empty());
  EXPECT_FALSE(needed_if(plan, false).empty());
}

TEST(MarkNeeded, NotBeforeTheConditionIsKnown) {
  Branches b;
  const int yes = b.product(b.product(b.x, 64), 32), no = b.product(b.x, 32);
  const int sum = b.node("sum", {1}, {8, 32}, {b.at(b.x, {ir::variable(1), ir::variable(2)})},
                         ir::read(0), ir::Combiner::sum);
  b.g.outputs = {b.chosen(yes, no, sum)};
  EXPECT_EQ(needed_if(check_sides(b), true).size(), 0U);
}

// An If inside a branch: a step is left out by one of its conditions.
TEST(MarkNeeded, DrawnBranchesInSchedules) {
  int left_out = 0;
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    Branches b;
    b.rng.seed(static_cast<unsigned>(round));
    std::vector<int> tensors = {b.product(b.x, 32)};
    for (int i = 0; i < 8; ++i) {
      const int a = tensors[b.rng() % tensors.size()], c = tensors[b.rng() % tensors.size()];
      switch (b.rng() % 4) {
        case 0:
          tensors.push_back(b.chosen(a, c, b.condition));
          break;
        case 1:
          tensors.push_back(b.binary(ir::ScalarOp::add, a, c));
          break;
        default:
          tensors.push_back(b.scaled(b.product(a, 32), 0.25));
      }
    }
    const size_t n = tensors.size();
    b.g.outputs = {b.product(b.chosen(tensors[n - 1], tensors[n - 2], b.condition), 8)};
    compiler::Options always;
    always.schedule = compiler::Schedule::always;
    for (const compiler::Options& o : {one_by_one(), always}) {
      const ir::Plan plan = check_sides(b, o);
      left_out += static_cast<int>(needed_if(plan, true).size() + needed_if(plan, false).size());
    }
  }
  EXPECT_GT(left_out, 20);
}

TEST(MarkNeeded, ThePredictionHasTheLongerBranch) {
  Branches b;
  const int yes = b.product(b.product(b.product(b.x, 512), 512), 32),
            no = b.product(b.product(b.x, 16), 32);
  b.g.outputs = {b.product(b.chosen(yes, no, b.condition), 16)};
  const hwdesc::Target looks = target_with_conditions(), computes_both = small_cpu(8, 2);
  const auto c = compiler::compile(b.g, looks, one_by_one()),
             both = compiler::compile(b.g, computes_both, one_by_one());
  ASSERT_TRUE(c.ok() && both.ok());
  ASSERT_EQ(c->plan.steps.size(), both->plan.steps.size());
  double without = 0;
  for (size_t s = 0; s < c->plan.steps.size(); ++s) {
    EXPECT_FALSE(both->plan.steps[s].needed_if);
    if (c->plan.steps[s].needed_if && !c->plan.steps[s].needed_if->value)
      without += c->estimates[s].seconds;
  }
  EXPECT_GT(without, 0);
  EXPECT_NEAR(c->total.seconds, both->total.seconds - without, 0.2 * without);
}

}  // namespace
}  // namespace assay::test
